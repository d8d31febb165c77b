package antiphon;

import antiphon.gen.CatalogServiceGrpc;
import antiphon.gen.InspectBackendRequest;
import antiphon.gen.InspectContractRequest;
import antiphon.gen.InspectProfileRequest;
import antiphon.gen.InspectPromptRequest;
import antiphon.gen.ListBackendsRequest;
import antiphon.gen.ListBackendsResponse;
import antiphon.gen.ListContractsRequest;
import antiphon.gen.ListContractsResponse;
import antiphon.gen.ListProfilesRequest;
import antiphon.gen.ListProfilesResponse;
import antiphon.gen.ListPromptsRequest;
import antiphon.gen.ListPromptsResponse;
import java.util.stream.Stream;

/** What is configured at the server; no secret is among it. Knows nothing of how it is used. */
abstract class Catalog extends Audit {
    Catalog(Connection connection) {
        super(connection);
    }

    /** Prompts by id, without their templates. */
    public Stream<ConfiguredPrompt> prompts() {
        return pages(
                        CatalogServiceGrpc.getListPromptsMethod(),
                        token -> ListPromptsRequest.newBuilder().setPageToken(token).build(),
                        ListPromptsResponse::getNextPageToken,
                        ListPromptsResponse::getPromptsList)
                .stream()
                .map(ConfiguredPrompt::of);
    }

    /** One prompt with its template. */
    public ConfiguredPrompt inspectPrompt(String promptId) {
        InspectPromptRequest asked = InspectPromptRequest.newBuilder().setPromptId(promptId).build();
        return ConfiguredPrompt.of(call(CatalogServiceGrpc.getInspectPromptMethod(), asked, null).getPrompt());
    }

    /** Profiles by id. */
    public Stream<ConfiguredProfile> profiles() {
        return pages(
                        CatalogServiceGrpc.getListProfilesMethod(),
                        token -> ListProfilesRequest.newBuilder().setPageToken(token).build(),
                        ListProfilesResponse::getNextPageToken,
                        ListProfilesResponse::getProfilesList)
                .stream()
                .map(ConfiguredProfile::of);
    }

    /** One profile. */
    public ConfiguredProfile inspectProfile(String profileId) {
        InspectProfileRequest asked = InspectProfileRequest.newBuilder().setProfileId(profileId).build();
        return ConfiguredProfile.of(call(CatalogServiceGrpc.getInspectProfileMethod(), asked, null).getProfile());
    }

    /** Backends by id, with what is at work there. */
    public Stream<ConfiguredBackend> backends() {
        return pages(
                        CatalogServiceGrpc.getListBackendsMethod(),
                        token -> ListBackendsRequest.newBuilder().setPageToken(token).build(),
                        ListBackendsResponse::getNextPageToken,
                        ListBackendsResponse::getBackendsList)
                .stream()
                .map(ConfiguredBackend::of);
    }

    /** One backend. */
    public ConfiguredBackend inspectBackend(String backendId) {
        InspectBackendRequest asked = InspectBackendRequest.newBuilder().setBackendId(backendId).build();
        return ConfiguredBackend.of(call(CatalogServiceGrpc.getInspectBackendMethod(), asked, null).getBackend());
    }

    /** Contracts by id, without their schemas. */
    public Stream<ConfiguredContract> contracts() {
        return pages(
                        CatalogServiceGrpc.getListContractsMethod(),
                        token -> ListContractsRequest.newBuilder().setPageToken(token).build(),
                        ListContractsResponse::getNextPageToken,
                        ListContractsResponse::getContractsList)
                .stream()
                .map(ConfiguredContract::of);
    }

    /** One contract with its schema. */
    public ConfiguredContract inspectContract(String contractId) {
        InspectContractRequest asked = InspectContractRequest.newBuilder().setContractId(contractId).build();
        return ConfiguredContract.of(call(CatalogServiceGrpc.getInspectContractMethod(), asked, null).getContract());
    }
}
