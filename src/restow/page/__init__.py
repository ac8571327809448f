"""The page of a group: an HTTP server that shows the picture on <prefix>-status in a browser. `restow page` runs it.

times.py       times that browsers send
updates.py     the newest picture and what changed, as JSON that all browsers share
samples.py     what is kept of each picture of the last day
history.py     the last day of the group, its partitions and consumers, in bounded memory
backfill.py    which pictures of the last day are read when the page starts
gaps.py        which times of the last day have no picture, and are filled from the monitor topic
following.py   the thread that reads Kafka
board.py       what the server knows; owned by the event loop
streams.py     /api/events: server-sent events
answers.py     /api/…: JSON
past.py        /api/at: pictures of the past, read when asked for
actions.py     /api/actions/…: pause, resume, recommend
guard.py       who may ask for what: Host, token, origin; the headers of every answer
token.py       the group's token, in a file that only its owner reads
assets.py      the files in static/
app.py         the routes
server.py      the socket, and the threads

One thread reads Kafka and hands frozen values to the event loop, which owns the board and answers.

The interface between the server and the modules in static/, all JSON in UTF-8:

    GET  /                     index.html
    GET  /static/NAME          modules and styles, with an ETag
    GET  /api/picture          {"picture": {"overview", "consumers", "topics"}, "age_s": 1.2, "outage": false}, or
                               {"picture": null, "why": "words"} before the first
    GET  /api/events           server-sent events, below
    GET  /api/history          ?from=ISO&to=ISO&points=300: {"times": [ISO…], "consumers", "ready", "load_bytes_per_s",
                               "capacity_bytes_per_s", "lag_records", "lag_seconds_max": lists as long, null where
                               nothing is known; "decisions": [Decision…], newest first; "from", "to", "since": ISO;
                               "is_complete": false while the last day is still being read}
    GET  /api/at               ?time=ISO: {"picture": …, "age_s": seconds before that time} or {"picture": null, "why"}
    GET  /api/partition/T/N    {"times", "bytes_per_s", "lag_records", "lag_seconds", "consumer": lists, "status":
                               PartitionStatus or null, "explanation": [lines]}
    GET  /api/consumer/N       {"times", "load_bytes_per_s", "lag_records", "lag_seconds", "partitions": lists,
                               "status": ConsumerStatus or null, "explanation": [lines]}
    POST /api/actions/pause    {"for_s": 7200} or {"until": ISO} or neither, and "reason"; /resume {"reason"};
                               /recommend {"on": true, "reason"}. Answer: {"taken": true, false or null, "words"};
                               null: no controller answered; it takes effect when one runs
    GET  /healthz, /readyz     200 or 503

docs/picture.md has the fields of the picture. An error is {"error": "words"} with a status of 400 or more.

Events are `picture`, with what /api/picture answers, at once and at every change, at most one a second; `change`, where
the picture is large: {"overview", "consumers", "topics", "age_s", "outage"} with the rows that changed since the last
`picture` event, null for what is gone, to be laid over the picture that the browser has; `outage`, with {"words",
"age_s"}, when the picture is older than 30 s or Kafka is away, and again every 10 s; the next `picture` ends it. A
comment comes every 10 s. A whole picture comes at least every 10 s while the controller publishes.

Actions need `Authorization: Bearer TOKEN`, `Content-Type: application/json` and the page's own origin. On another
address than loopback, everything below /api/ needs the token; EventSource can't send one: read /api/events with
fetch().
"""
