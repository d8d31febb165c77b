package antiphon

// What is configured at the server: prompts, profiles, backends and contracts; no secret is among it. Knows nothing of how it is used.

import (
	"context"
	"encoding/json"
	"iter"

	pb "antiphon/gen/antiphonv1"
)

// ConfiguredPrompt is a template of messages with default settings.
type ConfiguredPrompt struct {
	PromptID    string
	Description string
	// Variables are the names of those that it declares, and Required of those that must be given; Raw knows more of them.
	Variables []string
	Required  []string
	// ProfileID is the profile that it asks for; empty for none.
	ProfileID  string
	ContractID string
	ToolNames  []string
	// Template is its text; empty in a list.
	Template string

	raw *pb.Prompt
}

// Raw is the message behind it.
func (p *ConfiguredPrompt) Raw() *pb.Prompt { return p.raw }

func configuredPrompt(raw *pb.Prompt) *ConfiguredPrompt {
	made := &ConfiguredPrompt{
		PromptID: raw.GetPromptId(), Description: raw.GetDescription(), ProfileID: raw.GetProfileId(), ContractID: raw.GetContractId(),
		ToolNames: raw.GetToolNames(), Template: raw.GetTemplate(), raw: raw,
	}
	for _, variable := range raw.GetVariables() {
		made.Variables = append(made.Variables, variable.GetName())
		if variable.GetRequired() {
			made.Required = append(made.Required, variable.GetName())
		}
	}
	return made
}

// ConfiguredProfile is a backend, a model and parameters.
type ConfiguredProfile struct {
	ProfileID  string
	BackendID  string
	Model      string
	Parameters Parameters
	// IsDefault is whether it is used when nothing else names one.
	IsDefault bool

	raw *pb.Profile
}

// Raw is the message behind it.
func (p *ConfiguredProfile) Raw() *pb.Profile { return p.raw }

func configuredProfile(raw *pb.Profile) *ConfiguredProfile {
	return &ConfiguredProfile{
		ProfileID: raw.GetProfileId(), BackendID: raw.GetBackendId(), Model: raw.GetModel(), Parameters: parametersOf(raw.GetParameters()),
		IsDefault: raw.GetIsDefault(), raw: raw,
	}
}

// ConfiguredBackend is a provider's endpoint with a capacity.
type ConfiguredBackend struct {
	BackendID string
	// Kind is such as "openai" or "scripted".
	Kind string
	// BaseURL is without credentials; empty for kinds without one.
	BaseURL string
	// Capacity is how many calls it takes at once.
	Capacity uint32
	// Capabilities are what it can do, such as "tools" or "json_schema".
	Capabilities []string
	// InUse and Queued are calls at work and calls that wait, now.
	InUse  uint32
	Queued uint32

	raw *pb.Backend
}

// Raw is the message behind it.
func (b *ConfiguredBackend) Raw() *pb.Backend { return b.raw }

func configuredBackend(raw *pb.Backend) *ConfiguredBackend {
	return &ConfiguredBackend{
		BackendID: raw.GetBackendId(), Kind: raw.GetKind(), BaseURL: raw.GetBaseUrl(), Capacity: raw.GetCapacity(),
		Capabilities: raw.GetCapabilities(), InUse: raw.GetInUse(), Queued: raw.GetQueued(), raw: raw,
	}
}

// ConfiguredContract is a form that answers may have to have.
type ConfiguredContract struct {
	ContractID  string
	Description string
	// Schema is its JSON Schema; nil in a list.
	Schema json.RawMessage

	raw *pb.ConfiguredContract
}

// Raw is the message behind it.
func (c *ConfiguredContract) Raw() *pb.ConfiguredContract { return c.raw }

func configuredContract(raw *pb.ConfiguredContract) *ConfiguredContract {
	made := &ConfiguredContract{ContractID: raw.GetContractId(), Description: raw.GetDescription(), raw: raw}
	if raw.GetSchemaJson() != "" {
		made.Schema = json.RawMessage(raw.GetSchemaJson())
	}
	return made
}

// Prompts are those that are configured, by id, without their templates.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*ConfiguredPrompt, error] {
	asked := &pb.ListPromptsRequest{}
	raw := pages(ctx, c.catalog.ListPrompts, asked, func(next string) { asked.PageToken = next }, (*pb.ListPromptsResponse).GetPrompts)
	return each(raw, configuredPrompt)
}

// InspectPrompt is one prompt with its template.
func (c *Client) InspectPrompt(ctx context.Context, promptID string) (*ConfiguredPrompt, error) {
	found, err := call(ctx, c.catalog.InspectPrompt, &pb.InspectPromptRequest{PromptId: promptID}, nil)
	if err != nil {
		return nil, err
	}
	return configuredPrompt(found.GetPrompt()), nil
}

// Profiles are those that are configured, by id.
func (c *Client) Profiles(ctx context.Context) iter.Seq2[*ConfiguredProfile, error] {
	asked := &pb.ListProfilesRequest{}
	raw := pages(ctx, c.catalog.ListProfiles, asked, func(next string) { asked.PageToken = next }, (*pb.ListProfilesResponse).GetProfiles)
	return each(raw, configuredProfile)
}

// InspectProfile is one profile.
func (c *Client) InspectProfile(ctx context.Context, profileID string) (*ConfiguredProfile, error) {
	found, err := call(ctx, c.catalog.InspectProfile, &pb.InspectProfileRequest{ProfileId: profileID}, nil)
	if err != nil {
		return nil, err
	}
	return configuredProfile(found.GetProfile()), nil
}

// Backends are those that are configured, by id, with what is at work there.
func (c *Client) Backends(ctx context.Context) iter.Seq2[*ConfiguredBackend, error] {
	asked := &pb.ListBackendsRequest{}
	raw := pages(ctx, c.catalog.ListBackends, asked, func(next string) { asked.PageToken = next }, (*pb.ListBackendsResponse).GetBackends)
	return each(raw, configuredBackend)
}

// InspectBackend is one backend.
func (c *Client) InspectBackend(ctx context.Context, backendID string) (*ConfiguredBackend, error) {
	found, err := call(ctx, c.catalog.InspectBackend, &pb.InspectBackendRequest{BackendId: backendID}, nil)
	if err != nil {
		return nil, err
	}
	return configuredBackend(found.GetBackend()), nil
}

// Contracts are those that are configured, by id, without their schemas.
func (c *Client) Contracts(ctx context.Context) iter.Seq2[*ConfiguredContract, error] {
	asked := &pb.ListContractsRequest{}
	raw := pages(ctx, c.catalog.ListContracts, asked, func(next string) { asked.PageToken = next }, (*pb.ListContractsResponse).GetContracts)
	return each(raw, configuredContract)
}

// InspectContract is one contract with its schema.
func (c *Client) InspectContract(ctx context.Context, contractID string) (*ConfiguredContract, error) {
	found, err := call(ctx, c.catalog.InspectContract, &pb.InspectContractRequest{ContractId: contractID}, nil)
	if err != nil {
		return nil, err
	}
	return configuredContract(found.GetContract()), nil
}
