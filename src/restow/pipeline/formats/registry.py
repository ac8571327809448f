"""A client of schema registries with Confluent's API: schemas by id, and the newest of a subject.

An id means the same schema for ever, so that each is fetched once. Credentials are sent only to the address that
`[registry]` names, and no redirect is followed: it could lead them elsewhere.
"""

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote

from restow.pipeline.formats.errors import RegistryUnavailable, SchemaError
from restow.settings import Settings

ANSWER_WITHIN_S: Final = 10.0
LONGEST_BYTES: Final = 10_000_000
NOT_FOUND: Final = 404
TYPES: Final = {"AVRO": "avro", "JSON": "json", "PROTOBUF": "protobuf"}
"""The registry's names of formats. It leaves out that of Avro."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one imports."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    id: int
    format: str
    text: str
    references: tuple[Reference, ...] = ()


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Registry:
    def __init__(self, url: str, settings: Settings) -> None:
        self._url = url.rstrip("/")
        own = settings.registry
        is_own = own.url is not None and own.url.rstrip("/") == self._url
        self._authorization = None
        if is_own and own.token:
            self._authorization = f"Bearer {own.token}"
        elif is_own and own.username:
            pair = f"{own.username}:{own.password}".encode()
            self._authorization = f"Basic {base64.b64encode(pair).decode()}"
        authorities = settings.located(own.ca_file) if is_own and own.ca_file else None
        self._authorities = authorities

    def by_id(self, number: int) -> RegisteredSchema | None:
        """None if the registry has no such schema. Raises RegistryUnavailable."""
        answer = self._get(f"/schemas/ids/{number}")
        return None if answer is None else _schema(number, answer, self._url)

    def newest(self, subject: str) -> RegisteredSchema:
        """Raises SchemaError if there is no such subject, and RegistryUnavailable."""
        answer = self._get(f"/subjects/{quote(subject, safe='')}/versions/latest")
        if answer is None:
            raise SchemaError(
                f"the registry {self._url} has no subject {subject}; register its schema, or write another subject"
            )
        return _schema(answer.get("id"), answer, self._url)

    def versions(self, subject: str, most: int) -> list[RegisteredSchema]:
        """The newest ones, at most so many. Raises RegistryUnavailable."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        numbers = self._get_any(path)
        if not isinstance(numbers, list):
            raise RegistryUnavailable(f"{self._asked(path)} something else than versions; is its URL right?")
        answers = (self._get(f"{path}/{int(number)}") for number in numbers[-most:])
        return [_schema(answer.get("id"), answer, self._url) for answer in answers if answer is not None]

    def referred(self, reference: Reference) -> RegisteredSchema:
        """The schema that another one imports. Raises SchemaError, RegistryUnavailable."""
        answer = self._get(f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}")
        if answer is None:
            what = f"version {reference.version} of {reference.subject}"
            raise SchemaError(f"the registry {self._url} has no {what}, which another schema imports")
        return _schema(answer.get("id"), answer, self._url)

    def _get(self, path: str) -> dict[str, Any] | None:
        found = self._get_any(path)
        if found is not None and not isinstance(found, dict):
            raise RegistryUnavailable(f"{self._asked(path)} something else than a schema; is its URL right?")
        return found

    def _get_any(self, path: str) -> Any:
        """What the registry answers; None for 404."""
        request = urllib.request.Request(self._url + path, headers={"Accept": "application/json"})
        if self._authorization:
            request.add_unredirected_header("Authorization", self._authorization)
        try:
            with self._opener().open(request, timeout=ANSWER_WITHIN_S) as answer:
                return json.loads(answer.read(LONGEST_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == NOT_FOUND:
                    return None
            raise RegistryUnavailable(f"{self._asked(path)} {_reason(error.code)}") from None
        except (OSError, ValueError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise RegistryUnavailable(f"{self._asked(path)} {type(error).__name__}: {reason}") from None

    def _asked(self, path: str) -> str:
        return f"the registry {self._url} was asked for {path} and answered:"

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [NoRedirects()]
        if self._authorities is not None:
            context = ssl.create_default_context(cafile=self._authorities)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        return urllib.request.build_opener(*handlers)


def _reason(code: int) -> str:
    if code in (401, 403):
        return f"{code}, not allowed; write its credentials into [registry], with its URL"
    return f"{code}, moved; write the URL that it moved to" if 300 <= code < 400 else str(code)


def _schema(number: object, answer: dict[str, Any], url: str) -> RegisteredSchema:
    text, kind = answer.get("schema"), TYPES.get(answer.get("schemaType") or "AVRO")
    if type(number) is not int or not isinstance(text, str) or kind is None:
        raise RegistryUnavailable(f"the registry {url} answered something else than a schema; is its URL right?")
    imported = answer.get("references") or ()
    references = (Reference(str(each["name"]), str(each["subject"]), int(each["version"])) for each in imported)
    return RegisteredSchema(number, kind, text, tuple(references))
