# Made from ../_async by `generate`; not to be edited.
"""What is configured at the server. Knows nothing of how it is used."""

from __future__ import annotations

from collections.abc import Iterator

from antiphon._sync.calls import Calls
from antiphon.catalog import ConfiguredBackend, ConfiguredContract, ConfiguredProfile, ConfiguredPrompt
from antiphon.gen.antiphon.v1 import catalog_service_pb2 as pb


class Catalog(Calls):
    """Reads what is configured; no secret is among it."""

    def prompts(self, *, timeout: float | None = None) -> Iterator[ConfiguredPrompt]:
        """Prompts by id, without their templates."""
        for page in self._pages(self._catalog.ListPrompts, pb.ListPromptsRequest(), timeout):
            for prompt in page.prompts:
                yield ConfiguredPrompt.of(prompt)

    def inspect_prompt(self, prompt_id: str, *, timeout: float | None = None) -> ConfiguredPrompt:
        """One prompt with its template."""
        request = pb.InspectPromptRequest(prompt_id=prompt_id)
        return ConfiguredPrompt.of((self._call(self._catalog.InspectPrompt, request, timeout)).prompt)

    def profiles(self, *, timeout: float | None = None) -> Iterator[ConfiguredProfile]:
        """Profiles by id."""
        for page in self._pages(self._catalog.ListProfiles, pb.ListProfilesRequest(), timeout):
            for profile in page.profiles:
                yield ConfiguredProfile.of(profile)

    def inspect_profile(self, profile_id: str, *, timeout: float | None = None) -> ConfiguredProfile:
        """One profile."""
        request = pb.InspectProfileRequest(profile_id=profile_id)
        return ConfiguredProfile.of((self._call(self._catalog.InspectProfile, request, timeout)).profile)

    def backends(self, *, timeout: float | None = None) -> Iterator[ConfiguredBackend]:
        """Backends by id, with what is at work there."""
        for page in self._pages(self._catalog.ListBackends, pb.ListBackendsRequest(), timeout):
            for backend in page.backends:
                yield ConfiguredBackend.of(backend)

    def inspect_backend(self, backend_id: str, *, timeout: float | None = None) -> ConfiguredBackend:
        """One backend."""
        request = pb.InspectBackendRequest(backend_id=backend_id)
        return ConfiguredBackend.of((self._call(self._catalog.InspectBackend, request, timeout)).backend)

    def contracts(self, *, timeout: float | None = None) -> Iterator[ConfiguredContract]:
        """Contracts by id, without their schemas."""
        for page in self._pages(self._catalog.ListContracts, pb.ListContractsRequest(), timeout):
            for contract in page.contracts:
                yield ConfiguredContract.of(contract)

    def inspect_contract(self, contract_id: str, *, timeout: float | None = None) -> ConfiguredContract:
        """One contract with its schema."""
        request = pb.InspectContractRequest(contract_id=contract_id)
        return ConfiguredContract.of((self._call(self._catalog.InspectContract, request, timeout)).contract)
