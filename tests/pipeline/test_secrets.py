"""The errors of libraries and users' code are logged without the secrets that these were given."""

from restow.pipeline.secrets import Secrets
from restow.settings import ClientProperties, Group, Kafka, Settings, Spark

SETTINGS = Settings(
    Kafka("localhost:9092", properties=ClientProperties({"sasl.password": "hunter2", "client.id": "restow-client"})),
    group=Group("lake"),
    spark=Spark(properties=ClientProperties({"spark.hadoop.fs.s3a.secret.key": "hunter2-s3"})),
)
SECRETS = Secrets(SETTINGS, {"DB_PASSWORD": "correct horse", "HOME": "/home/lake", "PIN_TOKEN": "1"})


def test_secrets_of_settings_environment_and_addresses_are_redacted() -> None:
    text = "hunter2, hunter2-s3, correct horse, postgres://lake:pw@db/shop, restow-client, /home/lake, 1"
    assert SECRETS.redact(text) == "***, ***, ***, postgres://***@db/shop, restow-client, /home/lake, 1"
