"""The shape of scenarios.yaml and profiles.yaml."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.instance.schema.common import Flag, Id, Ids, Key, SchemaPart, Where

SCENARIO = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
ScenarioId = Annotated[str, Field(pattern=SCENARIO)]


class AdjustPart(SchemaPart):
    """A factor on some rows."""

    where: Where
    """The rows."""
    factor: Id
    """A decimal number."""
    measures: list[Key] = Field(default_factory=list)
    """Measures it touches; needed where a domain has several."""


class VariantPart(SchemaPart):
    """A what-if reading of a scenario."""

    label: str
    """Heading."""
    adjust: Annotated[list[AdjustPart], Field(min_length=1)]
    """Factors; each touches a row once, several multiply."""


class ScenarioPart(SchemaPart):
    """One base scenario."""

    alias: str
    """Heading."""
    name: str | None = None
    """Full name."""
    kind: Key
    """What it is, such as actual, budget or forecast; profiles grant by it."""
    status: Key = "open"
    """Where it stands, such as open or locked."""
    closed_through: Id | dict[Key, Id] | None = None
    """Last closed period, or one for each domain."""
    variants: dict[Key, VariantPart] = Field(default_factory=dict)
    """What-if readings, asked for as scenario/variant."""


class ScenariosFile(BaseModel):
    """scenarios.yaml: scenario id to scenario."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[ScenarioId, ScenarioPart] = Field(init=False)

    comparisons: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(default_factory=list)
    """Pairs of references whose variances list_scenarios offers ready-made."""


class AllowPart(SchemaPart):
    """Some names, or all but some."""

    allow: Ids | None = None
    """Only these."""
    deny: Ids | None = None
    """All but these."""

    @model_validator(mode="after")
    def says_one(self) -> "AllowPart":
        """Hold a restriction to one of both."""
        if (self.allow is None) == (self.deny is None):
            raise ValueError("says allow or deny, one of both")
        return self


class GrantPart(SchemaPart):
    """What a profile may see of one scenario."""

    domains: AllowPart | None = None
    """Domains; left out, all."""
    dimensions: dict[Key, AllowPart] = Field(default_factory=dict)
    """Members or nodes of a dimension."""
    open_domains: list[Key] = Field(default_factory=list)
    """Domains shown although they lack a restricted dimension."""


class ProfilePart(SchemaPart):
    """One profile."""

    operations: Flag = False
    """Whether loads and feeds are shown whole."""
    members: Literal["visible", "all"] = "visible"
    """visible: where a dimension is restricted, members of the others have a visible row; all: they need none."""
    scenarios: dict[str, GrantPart]
    """Scenario id, kind:KIND or * to what is granted; the most specific key alone applies."""


class AssignPart(SchemaPart):
    """Who has a profile."""

    profile: str
    """Profile name."""
    subject: str | None = None
    """The caller's subject."""
    claim: dict[str, Id] | None = None
    """Claims of the caller's token, each with a value that it must hold."""

    @model_validator(mode="after")
    def names_somebody(self) -> "AssignPart":
        """Hold an assignment to saying whose it is."""
        if self.subject is None and not self.claim:
            raise ValueError("assigns a profile to nobody: give subject or claim")
        return self


class ProfilesFile(BaseModel):
    """profiles.yaml: profile name to profile."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[Key, ProfilePart] = Field(init=False)

    assign: list[AssignPart] = Field(default_factory=list)
    """Who has which."""
