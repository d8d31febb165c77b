/** What is configured at the server: prompts, profiles, backends and contracts; no secret is among it. Knows nothing of how it is used. */

import { create } from "@bufbuild/protobuf";

import { Audit } from "./audit.js";
import type { CallSettings } from "./calls.js";
import type { Backend, ConfiguredContract as RawContract, Profile, Prompt } from "./gen/antiphon/v1/catalog_pb.js";
import {
  ListBackendsRequestSchema,
  ListContractsRequestSchema,
  ListProfilesRequestSchema,
  ListPromptsRequestSchema,
} from "./gen/antiphon/v1/catalog_service_pb.js";
import { parse } from "./json.js";
import { there } from "./calls.js";
import { type Parameters, parametersOf } from "./request.js";
import type { Schema } from "./tool.js";

/** A template of messages with default settings. */
export interface ConfiguredPrompt {
  readonly promptId: string;
  readonly description: string;
  /** The names of the variables that it declares; what else is known of them is in `raw`. */
  readonly variables: readonly string[];
  /** The names of those that must be given. */
  readonly required: readonly string[];
  /** The profile that it asks for; empty for none. */
  readonly profileId: string;
  readonly contractId: string;
  readonly toolNames: readonly string[];
  /** Its text; empty in a list. */
  readonly template: string;
  readonly raw: Prompt;
}

/** A backend, a model and parameters. */
export interface ConfiguredProfile {
  readonly profileId: string;
  readonly backendId: string;
  readonly model: string;
  readonly parameters: Parameters;
  /** It is used when nothing else names one. */
  readonly isDefault: boolean;
  readonly raw: Profile;
}

/** A provider's endpoint with a capacity. */
export interface ConfiguredBackend {
  readonly backendId: string;
  /** Such as `openai` or `scripted`. */
  readonly kind: string;
  /** Without credentials; empty for kinds without one. */
  readonly baseUrl: string;
  /** How many calls it takes at once. */
  readonly capacity: number;
  /** What it can do, such as `tools` or `json_schema`. */
  readonly capabilities: readonly string[];
  /** Calls at work now. */
  readonly inUse: number;
  /** Calls that wait now. */
  readonly queued: number;
  readonly raw: Backend;
}

/** A form that answers may have to have. */
export interface ConfiguredContract {
  readonly contractId: string;
  readonly description: string;
  /** Its JSON Schema; undefined in a list. */
  readonly schema: Schema | undefined;
  readonly raw: RawContract;
}

/** Reads what is configured. */
export class Catalog extends Audit {
  /** Prompts by id, without their templates. */
  async *prompts(settings: CallSettings = {}): AsyncGenerator<ConfiguredPrompt, void, undefined> {
    const request = create(ListPromptsRequestSchema);
    for await (const page of this.pages(this.services.catalog.listPrompts, request, settings)) yield* page.prompts.map(promptOf);
  }

  /** One prompt with its template. */
  async inspectPrompt(promptId: string, settings: CallSettings = {}): Promise<ConfiguredPrompt> {
    return promptOf(there((await this.call(this.services.catalog.inspectPrompt, { promptId }, settings)).prompt));
  }

  /** Profiles by id. */
  async *profiles(settings: CallSettings = {}): AsyncGenerator<ConfiguredProfile, void, undefined> {
    const request = create(ListProfilesRequestSchema);
    for await (const page of this.pages(this.services.catalog.listProfiles, request, settings)) yield* page.profiles.map(profileOf);
  }

  /** One profile. */
  async inspectProfile(profileId: string, settings: CallSettings = {}): Promise<ConfiguredProfile> {
    return profileOf(there((await this.call(this.services.catalog.inspectProfile, { profileId }, settings)).profile));
  }

  /** Backends by id, with what is at work there. */
  async *backends(settings: CallSettings = {}): AsyncGenerator<ConfiguredBackend, void, undefined> {
    const request = create(ListBackendsRequestSchema);
    for await (const page of this.pages(this.services.catalog.listBackends, request, settings)) yield* page.backends.map(backendOf);
  }

  /** One backend. */
  async inspectBackend(backendId: string, settings: CallSettings = {}): Promise<ConfiguredBackend> {
    return backendOf(there((await this.call(this.services.catalog.inspectBackend, { backendId }, settings)).backend));
  }

  /** Contracts by id, without their schemas. */
  async *contracts(settings: CallSettings = {}): AsyncGenerator<ConfiguredContract, void, undefined> {
    const request = create(ListContractsRequestSchema);
    for await (const page of this.pages(this.services.catalog.listContracts, request, settings)) yield* page.contracts.map(contractOf);
  }

  /** One contract with its schema. */
  async inspectContract(contractId: string, settings: CallSettings = {}): Promise<ConfiguredContract> {
    return contractOf(there((await this.call(this.services.catalog.inspectContract, { contractId }, settings)).contract));
  }
}

function promptOf(raw: Prompt): ConfiguredPrompt {
  const { promptId, description, profileId, contractId, toolNames, template } = raw;
  const variables = raw.variables.map(({ name }) => name);
  const required = raw.variables.filter((variable) => variable.required).map(({ name }) => name);
  return { promptId, description, variables, required, profileId, contractId, toolNames, template, raw };
}

function profileOf(raw: Profile): ConfiguredProfile {
  const { profileId, backendId, model, isDefault } = raw;
  return { profileId, backendId, model, parameters: parametersOf(raw.parameters), isDefault, raw };
}

function backendOf(raw: Backend): ConfiguredBackend {
  const { backendId, kind, baseUrl, capacity, capabilities, inUse, queued } = raw;
  return { backendId, kind, baseUrl, capacity, capabilities, inUse, queued, raw };
}

function contractOf(raw: RawContract): ConfiguredContract {
  const { contractId, description, schemaJson } = raw;
  return { contractId, description, schema: schemaJson ? (parse(schemaJson) as Schema) : undefined, raw };
}
