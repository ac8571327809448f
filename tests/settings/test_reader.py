"""Reading restow.toml: valid files become settings, invalid ones an error of one line."""

import pytest

from restow.settings import (
    ClientProperties,
    Controller,
    Group,
    InvalidSettings,
    Kafka,
    Monitor,
    PassthroughTable,
    Registry,
    Schedule,
    Settings,
    Topics,
    read_settings,
)

MINIMAL = '[group]\nname = "lake"\n[kafka]\nbootstrap = "localhost:9092"\n'


def read(text: str, **environment: str) -> Settings:
    return read_settings(text, "restow.toml", environment)


def refusal(text: str, **environment: str) -> str:
    """The first error."""
    with pytest.raises(InvalidSettings) as caught:
        read(text, **environment)
    return caught.value.errors[0]


def test_the_least_file_names_the_brokers_and_the_group_and_leaves_the_rest_to_the_defaults() -> None:
    assert read(MINIMAL) == Settings(
        kafka=Kafka("localhost:9092", ClientProperties()),
        group=Group("lake", platform="processes"),
        topics=Topics("lake", replication_factor=None, monitor_retention_ms=-1, most_consumers=20),
        monitor=Monitor((), 1.0, 1.0, window_s=30.0, filter_threshold=30.0, filter_smoothing_s=6.0),
    )


def test_every_setting_can_be_given() -> None:
    text = """
        [kafka]
        bootstrap = "one:9092,two:9092"
        [group]
        name = "lake"
        [topics]
        prefix = "sea"
        replication_factor = 3
        monitor_retention_ms = 86400000
        most_consumers = 5
        [monitor]
        topics = ["orders", "^events-.*"]
        sample_every_s = 2
        publish_every_s = 5.5
        window_s = 10
        filter_threshold = 40
        filter_smoothing_s = 0
    """
    assert read(text) == Settings(
        kafka=Kafka("one:9092,two:9092"),
        group=Group("lake"),
        topics=Topics("sea", replication_factor=3, monitor_retention_ms=86400000, most_consumers=5),
        monitor=Monitor(
            ("orders", "^events-.*"), 2.0, 5.5, window_s=10.0, filter_threshold=40.0, filter_smoothing_s=0.0
        ),
    )


def test_the_four_topics_are_named_after_the_prefix() -> None:
    topics = Topics(prefix="lake")
    assert (topics.monitor, topics.controller, topics.query, topics.service) == (
        *("lake-monitor", "lake-controller"),
        *("lake-query", "lake-service"),
    )


def test_a_group_without_a_name_is_refused_with_what_to_write_and_what_an_older_file_meant() -> None:
    assert refusal('[kafka]\nbootstrap = "localhost:9092"\n') == (
        'restow.toml: [group] name is missing; write [group] name = "orders", or what else the group should be called; '
        'a file without it meant name = "restow", and prefix = "data-engineering" in [topics] unless that was set; '
        "it must be 1 to 40 lowercase letters, digits or dashes, starting with a letter"
    )


def test_the_topics_of_a_group_start_with_its_name_unless_they_have_a_prefix() -> None:
    assert read(MINIMAL).topics.controller == "lake-controller"
    assert read(MINIMAL + '[topics]\nprefix = "data-engineering"').topics.controller == "data-engineering-controller"


def test_any_other_key_of_kafka_is_a_property_of_the_clients_quoted_or_not() -> None:
    kafka = read(
        MINIMAL + 'security.protocol = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\nsasl.username = "restow"\n'
        "socket.keepalive.enable = true\nsocket.timeout.ms = 5000\n"
    ).kafka
    assert dict(kafka.properties) == {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "restow",
        "security.protocol": "SASL_SSL",
        "socket.keepalive.enable": "true",
        "socket.timeout.ms": "5000",
    }


def test_an_environment_variable_replaces_its_reference() -> None:
    text = '[kafka]\nbootstrap = "${HOST}:9092"\nsasl.password = "a${KAFKA_PASSWORD}z"\n[group]\nname = "${TEAM}"'
    settings = read(text, HOST="one", KAFKA_PASSWORD="hunter2", TEAM="lake")
    assert settings.kafka.bootstrap == "one:9092"
    assert settings.kafka.properties["sasl.password"] == "ahunter2z"
    assert settings.group.name == "lake"


def test_a_variable_that_is_not_set_is_reported() -> None:
    assert refusal(MINIMAL + 'sasl.password = "${KAFKA_PASSWORD}"') == (
        "restow.toml: [kafka] sasl.password needs the environment variable KAFKA_PASSWORD, which is not set; set it"
    )


SECRETS = (
    *("sasl.password", "ssl.key.password", "ssl.keystore.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"),
    *("sasl.oauthbearer.config", "sasl.oauthbearer.assertion.private.key.passphrase"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_shows_in_no_repr_of_the_settings(name: str) -> None:
    settings = read(MINIMAL + f'"{name}" = "hunter2"')
    assert settings.kafka.properties[name] == "hunter2"
    for text in (repr(settings), str(settings.kafka.properties), f"{settings.kafka}"):
        assert "hunter2" not in text
        assert f"'{name}': '***'" in text


def test_a_secret_is_removed_from_a_library_s_message() -> None:
    properties = ClientProperties({"sasl.password": "hunter2", "sasl.username": "restow"})
    assert properties.redact("restow may not enter with hunter2") == "restow may not enter with ***"


def test_a_secret_of_a_wrong_type_is_reported_without_its_value() -> None:
    assert refusal(MINIMAL + '"sasl.password" = ["hunter2"]') == (
        "restow.toml: [kafka] sasl.password = *** can't be used; it must be text, a number, true or false"
    )


ADDRESSES = "one or more host:port, separated by commas"
TOPIC = "a topic's name, or a regular expression that starts with ^"
PREFIX = "the start of a topic's name: 1 to 200 letters, digits, dots, dashes or underscores"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("[kafka] bootstrap = 9092", ADDRESSES),
        ('[kafka] bootstrap = "localhost"', ADDRESSES),
        ("[monitor] window_s = 45.0", "a finite number, above 0 and at most 30"),
        ("[monitor] sample_every_s = nan", "a finite number, above 0"),
        ("[monitor] sample_every_s = true", "a finite number, above 0"),
        ('[monitor] publish_every_s = "1"', "a finite number, above 0"),
        ('[monitor] topics = "orders"', f"a list, each element {TOPIC}"),
        ("[monitor] topics = 3", f"a list, each element {TOPIC}"),
        ("[topics] most_consumers = 2.5", "a whole number, 1 or more"),
        ("[topics] most_consumers = true", "a whole number, 1 or more"),
        ("[topics] replication_factor = 0", "a whole number, 1 or more"),
        ("[topics] monitor_retention_ms = 5", "a whole number, -1 (forever) or 1000 and more"),
        ('[topics] prefix = "a b"', PREFIX),
    ],
)
def test_an_invalid_value_is_reported_with_what_would_be_right(line: str, wanted: str) -> None:
    table, _, setting = line.partition(" ")
    text = f"{table}\n{setting}\n" + ("" if table == "[kafka]" else MINIMAL)
    assert refusal(text) == f"restow.toml: {line} can't be used; it must be {wanted}"


@pytest.mark.parametrize("item", ["^(", "a b", ""])
def test_an_item_of_a_list_is_checked_by_itself(item: str) -> None:
    assert refusal(MINIMAL + f'[monitor]\ntopics = ["orders", "{item}"]') == (
        f'restow.toml: [monitor] topics = "{item}" can\'t be used; it must be {TOPIC}'
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[kafka", "this is not TOML: Expected ']' at the end of a table declaration (at end of document)"),
        ("", f"[kafka] bootstrap is missing; it must be {ADDRESSES}"),
        ("kafka = 3", "kafka = 3 can't be used; it must be a table, [kafka]"),
        (MINIMAL + "[monitors]", "there is no table [monitors]; did you mean 'monitor'?"),
        (
            MINIMAL + "[x]",
            (
                "there is no table [x]; known are consume, consumer, "
                "controller, event_log, group, kafka, kubernetes, log, metrics, monitor, page, processes, registry, "
                "schedule, spark, table, topics"
            ),
        ),
        (MINIMAL + "[monitor]\nwindow = 3", "[monitor] there is no setting 'window'; did you mean 'window_s'?"),
        (
            MINIMAL + "[monitor]\nzzz = 3",
            (
                "[monitor] there is no setting 'zzz'; known are filter_smoothing_s, filter_threshold, publish_every_s, "
                "sample_every_s, topics, window_s"
            ),
        ),
        (
            MINIMAL + '"bootstrap.servers" = "x:1"',
            '[kafka] bootstrap.servers is called bootstrap here; write bootstrap = "x:1"',
        ),
    ],
)
def test_an_invalid_file_is_reported_with_the_place(text: str, told: str) -> None:
    assert refusal(text) == f"restow.toml: {told}"


def test_the_session_of_spark_takes_any_property_of_spark_and_of_its_kafka_client() -> None:
    spark = read(
        MINIMAL + '[spark]\nmaster = "local[2]"\npackages = ["org.example:tools:1.0"]\n'
        "spark.sql.shuffle.partitions = 4\nkafka.max.poll.records = 2000\n"
    ).spark
    assert (spark.master, spark.packages) == ("local[2]", ("org.example:tools:1.0",))
    assert spark.of_session() == {"spark.sql.shuffle.partitions": "4"}
    assert spark.of_reader() == {"kafka.max.poll.records": "2000"}
    assert refusal(MINIMAL + "[spark]\nmemory = 3") == (
        "restow.toml: [spark] there is no setting 'memory'; known are master and packages, and properties that start "
        "with spark. or kafka."
    )


def test_a_topic_configures_gaps_and_the_group_to_take_offsets_from() -> None:
    orders = read(MINIMAL + '[consume.orders]\nlineage = false\non_gap = "stop"\nfrom_group = "old"\n').consume[
        "orders"
    ]
    assert (orders.lineage, orders.on_gap, orders.from_group) == (False, "stop", "old")
    assert refusal(MINIMAL + '[consume.orders]\non_gap = "skip"\n') == (
        "restow.toml: [consume.orders] on_gap is 'skip'; it must be go on or stop"
    )


POD = """
[kubernetes.pod.metadata.annotations]
"example.org/team" = "${TEAM}"
[kubernetes.pod.spec]
nodeSelector = { disk = "ssd" }
[[kubernetes.pod.spec.tolerations]]
key = "lake"
tolerationSeconds = 60
"""


def test_a_passthrough_table_is_kept_as_written_with_variables_replaced() -> None:
    pod = read(MINIMAL + POD, TEAM="lake").kubernetes.pod
    assert pod == {
        "metadata": {"annotations": {"example.org/team": "lake"}},
        "spec": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "lake", "tolerationSeconds": 60}]},
    }


def test_a_passthrough_table_is_read_only_and_its_repr_shows_only_keys() -> None:
    pod = read(MINIMAL + '[kubernetes.pod]\nspec.nodeName = "hush-hush"').kubernetes.pod
    pod["spec"]["nodeName"] = "another"
    assert pod["spec"] == {"nodeName": "hush-hush"}
    assert repr(pod) == "PassthroughTable(spec)"
    assert hash(pod) == hash(PassthroughTable({"spec": {"nodeName": "hush-hush"}}))


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("pod = 3", "[kubernetes] pod = 3", "a table"),
        (
            "pod.spec.since = 2026-01-01",
            "[kubernetes.pod.spec] since = 2026-01-01",
            "text, a finite number, true or false, a list or a table",
        ),
        ('claims = "forget"', '[kubernetes] claims = "forget"', "keep or delete"),
        (
            'namespace = "My_Lake"',
            '[kubernetes] namespace = "My_Lake"',
            "a Kubernetes name: lowercase letters, digits, dashes and dots",
        ),
    ],
)
def test_an_invalid_kubernetes_setting_is_reported_in_one_line(text: str, place: str, wanted: str) -> None:
    assert refusal(f"{MINIMAL}[kubernetes]\n{text}") == f"restow.toml: {place} can't be used; it must be {wanted}"


def test_a_missing_variable_of_a_passthrough_table_is_reported_with_its_place() -> None:
    assert refusal(f"{MINIMAL}[kubernetes]\npod.spec.nodeName = '${{NODE}}'") == (
        "restow.toml: [kubernetes.pod.spec] nodeName needs the environment variable NODE, which is not set; set it"
    )


def test_every_error_of_a_file_is_found_and_the_message_is_the_first_with_their_number() -> None:
    text = """
        [kafka]
        bootstrap = 9092
        "sasl.password" = "${PASSWORD}"
        "linger.ms" = [1]
        [topics]
        replication_factor = 0
        most_consumers = "many"
        [contoller]
        [consumer]
        cycle_s = -1
        cycles = 3
        [consume.orders]
        tabel = "lake/orders"
        start = "erliest"
        [consume."bad name"]
    """
    with pytest.raises(InvalidSettings) as caught:
        read(text)
    errors = caught.value.errors
    expected = [
        "there is no table [contoller]; did you mean 'controller'?",
        "[kafka] sasl.password needs the environment variable PASSWORD",
        "[kafka] linger.ms = [1] can't be used",
        "[kafka] bootstrap = 9092 can't be used",
        "[topics] replication_factor = 0 can't be used",
        '[topics] most_consumers = "many" can\'t be used',
        "[group] name is missing",
        "[consumer] cycle_s = -1.0 can't be used",
        "[consumer] there is no setting 'cycles'",
        "[consume.orders] there is no setting 'tabel'; did you mean 'table'?",
        "[consume.orders] start is 'erliest'; it must be earliest",
        '[consume] = "bad name" can\'t be used',
    ]
    assert len(errors) == len(expected)
    for error, start in zip(sorted(errors), sorted(expected), strict=True):
        assert error.startswith(f"restow.toml: {start}")
    assert str(caught.value) == f"{errors[0]} (and 11 more errors: `restow check` lists all)"


def test_a_single_error_is_the_message() -> None:
    with pytest.raises(InvalidSettings) as caught:
        read(MINIMAL + "[consumer]\ncycle_s = -1")
    assert caught.value.errors == (str(caught.value),)


NIGHTS = '[[schedule]]\ncron = "0 22 * * *"\nfor = "8h"\nzone = "Europe/Berlin"\nleast = 1\nmost = 4\nhold = true\n'


def test_schedules_are_tables_of_their_own() -> None:
    settings = read(f'{MINIMAL}{NIGHTS}[[schedule]]\ncron = "0 0 L * *"\nfor = "1d"\nleast = 2\n')
    assert settings.schedule == (
        Schedule("0 22 * * *", "8h", "Europe/Berlin", least=1, most=4, hold=True),
        Schedule("0 0 L * *", "1d", least=2),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            NIGHTS.replace("22", "25"),
            (
                'restow.toml: [[schedule]] cron = "0 25 * * *" can\'t be used; it must be a cron expression of five '
                "fields, like 0 22 * * mon-fri"
            ),
        ),
        (
            NIGHTS.replace("8h", "8 hours"),
            (
                'restow.toml: [[schedule]] for = "8 hours" can\'t be used; it must be days, hours and minutes, like 8h '
                "or 1d12h, 31d at most"
            ),
        ),
        (NIGHTS.replace("least = 1", "least = 9"), "restow.toml: [[schedule]] most is 4; it must be least (9) or more"),
        (
            NIGHTS.replace("hold", "holds"),
            "restow.toml: [[schedule]] there is no setting 'holds'; did you mean 'hold'?",
        ),
        (
            "[schedule]\nleast = 1\n",
            "restow.toml: schedule can't be used; it must be tables of their own, [[schedule]]",
        ),
    ],
)
def test_an_invalid_schedule_is_reported_with_what_would_be_right(text: str, told: str) -> None:
    assert refusal(MINIMAL + text) == told


def test_a_preset_sets_defaults_and_keys_that_are_written_win() -> None:
    settings = read(f'{MINIMAL}[controller]\npreset = "lean"\ndrain_to = 0.8\n').controller
    assert settings == Controller.of_preset("lean", drain_to=0.8)
    assert (settings.close_after_s, settings.drain_to, settings.fill_to) == (60.0, 0.8, 0.94)
    assert read(MINIMAL).controller == Controller.of_preset("balanced") == Controller()


def test_an_unknown_preset_is_refused() -> None:
    told = 'restow.toml: [controller] preset = "bold" can\'t be used; it must be careful or balanced or lean'
    assert refusal(f'{MINIMAL}[controller]\npreset = "bold"\n') == told


CONSUME = '[consume.orders]\nformat = "avro"\nregistry = "http://registry:8081"\ntransform = "shop:orders"\n'


def test_options_are_texts_numbers_and_truth_values_and_credentials_come_from_the_environment() -> None:
    options = '[consume.orders.options]\nleast = 2.5\ncount = 3\nname = "${NAME}"\nis_new = true\n'
    own = '[registry]\nurl = "http://registry:8081"\nusername = "restow"\npassword = "${PASSWORD}"\n'
    settings = read_settings(MINIMAL + CONSUME + options + own, "restow.toml", {"NAME": "a", "PASSWORD": "hush"})
    assert dict(settings.consume["orders"].options) == {"count": 3, "is_new": True, "least": 2.5, "name": "a"}
    assert settings.registry == Registry("http://registry:8081", "restow", "hush")
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            CONSUME + "[consume.orders.options]\nlist = [1]",
            "[consume.orders.options] list = [1] can't be used; it must be text, a number, true or false",
        ),
        (
            CONSUME + "options = 3",
            "[consume.orders] options = 3 can't be used; it must be a table of texts, numbers, true and false",
        ),
        (
            '[registry]\npassword = "hush"\nusername = "a"',
            "[registry] url is missing; write the registry's, so that credentials are sent to no other",
        ),
        (
            '[registry]\nurl = "http://a"\npassword = "hush"',
            "[registry] username and password belong together; write both",
        ),
        (
            '[registry]\nurl = "http://a"\ntoken = "hush"\npassword = "hush"\nusername = "a"',
            "[registry] token is given beside username or password; write one of both",
        ),
        (
            '[registry]\nurl = "http://a:hush@b"',
            "[registry] url has credentials in it; write them as username and password, from the environment",
        ),
    ],
)
def test_a_registry_or_options_that_can_t_be_meant_are_reported(text: str, told: str) -> None:
    assert refusal(MINIMAL + text) == f"restow.toml: {told}"
