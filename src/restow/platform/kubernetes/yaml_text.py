"""Prints Kubernetes objects as readable YAML. Pure; used by `manifests.py`."""

from typing import Any, Final

import yaml

FIRST: Final = (
    *("apiVersion", "kind", "metadata", "name", "namespace"),
    *("image", "command", "args", "apiGroups", "resources"),
)
"""These keys come first."""


def dumped(item: dict[str, Any]) -> str:
    text: str = yaml.dump(_in_order(item), Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return text


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        keys = [*(key for key in FIRST if key in value), *(key for key in value if key not in FIRST)]
        return {key: _in_order(value[key]) for key in keys}
    return [_in_order(each) for each in value] if isinstance(value, list) else value


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types
    """Multi-line texts as blocks, lists indented below their key, and no aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002  as it is called
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  as it is called
        return True


def _as_text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _as_text)
