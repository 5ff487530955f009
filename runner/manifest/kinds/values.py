"""Values that may stand elsewhere: in a Secret, a ConfigMap, or with the query."""

from __future__ import annotations

from pydantic import Field

from flowcompose.runner.manifest.kinds.base import Listed, Spec


class NameRef(Spec):
    """Another document, by its name."""

    name: str = Field(description="The name of the document.")
    namespace: str | None = Field(
        default=None, description="Its namespace; that of the referring document if not given."
    )


class KeyRef(Spec):
    """A key of a Secret or a ConfigMap."""

    name: str = Field(description="The name of the Secret or ConfigMap.")
    key: str = Field(description="Which of its keys.")
    optional: bool = Field(default=False, description="Accepted as Kubernetes does; no effect.")


class ServiceRef(Spec):
    """A service of a cluster. There is none here: the value cannot be had."""

    name: str = Field(description="The name of the service.")
    namespace: str | None = Field(default=None, description="Its namespace.")
    port: str | None = Field(default=None, description="Its port, by name or number.")
    path: str | None = Field(default=None, description="What follows the port in the URL.")


class QueryParameterRef(Spec):
    """A parameter of the query that is being answered."""

    name: str = Field(description="The name of the query's parameter.")


class ValueFrom(Spec):
    """Where a value stands: exactly one of these."""

    secret_key_ref: KeyRef | None = Field(default=None, description="A key of a Secret.")
    config_map_key_ref: KeyRef | None = Field(default=None, description="A key of a ConfigMap.")
    service_ref: ServiceRef | None = Field(
        default=None, description="The address of a service in a cluster; not resolved here."
    )
    query_parameter_ref: QueryParameterRef | None = Field(
        default=None, description="A parameter of the query."
    )

    @property
    def sources(self) -> list[str]:
        """The names of the fields that are given."""
        return [field.alias or name for name, field in _FROM.items() if getattr(self, name)]


_FROM = ValueFrom.model_fields


class ValueSource(Spec):
    """A value, or where it stands."""

    value: str | None = Field(default=None, repr=False, description="The value itself.")
    value_from: ValueFrom | None = Field(default=None, description="Where the value stands.")


class ParameterSpec(ValueSource):
    """A value that templates name as `{{.name}}`."""

    name: str = Field(description="The name that templates use.")


class HeaderSpec(Spec):
    """A header of a request."""

    name: str = Field(description="The header's name, such as `Authorization`.")
    value: ValueSource = Field(description="Its value, or where it stands.")


class Requirement(Spec):
    """A condition on a label."""

    key: str = Field(description="The label.")
    operator: str = Field(description="In, NotIn, Exists or DoesNotExist.")
    values: Listed[str] = Field(default=(), description="What In and NotIn compare with.")


class LabelSelector(Spec):
    """Which documents, by their labels; an empty one means all."""

    match_labels: dict[str, str] = Field(
        default_factory=dict, description="Labels that must have these values."
    )
    match_expressions: Listed[Requirement] = Field(
        default=(), description="Conditions that must all hold."
    )
