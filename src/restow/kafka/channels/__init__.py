"""How each role uses restow's topics. `protocol/channels.py` has the messages on each.

                 <prefix>-controller      <prefix>-query  <prefix>-monitor  <prefix>-service  <prefix>-status
    monitor                                               writes            reads
    controller   reads 0, writes 0 and N  writes N        reads             reads             writes
    consumer N   reads N, writes 0        reads N
    displays                                              read                                read
    commands                                                                write             read

consumer.py    Mailbox: the commands and queries on a consumer's own partitions, and its messages to the controller
controller.py  ControllerChannel: transactional writes under one id per group, which fence older controllers
publisher.py   Publisher: the monitor's measurements, and single records
history.py     the monitor's past measurements, for `restow record`
neighbours.py  whether other groups use a group's topics, before its controller starts
services.py    Services: which topics the group consumes, for the monitor; and the records of commands
status.py      StatusPublisher and StatusReader: the group's picture
status_history.py  the pictures of the last day, for the page
"""
