"""`[registry]`: credentials for a schema registry."""

from dataclasses import dataclass, field

from restow.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Registry:
    """`[registry]`: credentials for a schema registry, from environment variables: `password =
    "${REGISTRY_PASSWORD}"`. They are sent to no other address than `url`."""

    url: str | None = None
    """The registry's URL, as `registry` in [consume.NAME] has it. Requests to others are sent without credentials."""

    username: str | None = None
    """The user's name, for HTTP basic authentication; an API key is one too."""

    password: str | None = field(default=None, repr=False)
    """The user's password, or the API key's secret."""

    token: str | None = field(default=None, repr=False)
    """A bearer token, in place of a user's name and password."""

    ca_file: str | None = None
    """The certificates, as PEM, of the authorities that may sign the registry's. Without it, those of the system."""

    def __post_init__(self) -> None:
        if self.url is not None and "@" in self.url:
            raise InvalidInput("url has credentials in it; write them as username and password, from the environment")
        if self.url is None and (self.username or self.password or self.token or self.ca_file):
            raise InvalidInput("url is missing; write the registry's, so that credentials are sent to no other")
        if self.token and (self.username or self.password):
            raise InvalidInput("token is given beside username or password; write one of both")
        if (self.username is None) != (self.password is None):
            raise InvalidInput("username and password belong together; write both")
