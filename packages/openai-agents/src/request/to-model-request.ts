import type { JsonObject } from '@millrace/core';
import type {
  ModelRequest,
  ReasoningEffort,
  ToolChoice,
  ToolDefinition,
} from '@millrace/providers';
import { type ModelSettings, type ModelRequest as SdkRequest, UserError } from '@openai/agents';
import { toItems } from './convert-items.ts';

/**
 * Converts a request of the SDK to a Millrace request. Throws `UserError` for features that no
 * Millrace provider supports.
 */
export function toModelRequest(request: SdkRequest, provider: string): ModelRequest {
  assertSupported(request);
  const { input, systemInstructions, modelSettings, outputType } = request;
  const { items, cachePoints } = toItems(input, systemInstructions);
  const tools = toolDefinitions(request);
  return {
    items,
    ...(tools.length > 0 && { tools, toolChoice: choiceOf(modelSettings.toolChoice) }),
    ...settingsOf(modelSettings, provider),
    reasoning: effortOf(request),
    ...(outputType !== 'text' && { output: outputOf(outputType) }),
    ...(cachePoints.length > 0 && {
      cache: { upTo: cachePoints, longLived: modelSettings.promptCacheRetention === '24h' },
    }),
  };
}

function settingsOf(settings: ModelSettings, provider: string) {
  const { maxTokens, temperature, topP, providerData } = settings;
  const providerOptions = providerData && { [provider]: providerData as JsonObject };
  return { maxOutputTokens: maxTokens, temperature, topP, providerOptions };
}

function choiceOf(choice: string | undefined): ToolChoice | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required')
    return choice;
  return { name: choice };
}

/**
 * Returns the reasoning effort that the caller set. If the caller set no effort, the SDK adds the default of
 * OpenAI's default model. That default must not be sent to other models.
 */
function effortOf(request: SdkRequest): ReasoningEffort | undefined {
  const { effort } = request.modelSettings.reasoning ?? {};
  const { _internal: hidden } = request as { _internal?: { reasoningEffortImplicit?: boolean } };
  if (effort === undefined || effort === null || hidden?.reasoningEffortImplicit) return undefined;
  return effort === 'xhigh' ? 'max' : effort;
}

function outputOf({ name, schema, strict }: Exclude<SdkRequest['outputType'], 'text'>) {
  return { name, schema: schema as unknown as JsonObject, strict };
}

/** Throws for conversations that OpenAI stores, because the request would contain only a part of them. */
function assertSupported({ previousResponseId, conversationId, prompt }: SdkRequest): void {
  if (previousResponseId || conversationId)
    throw new UserError(
      'Cannot continue a conversation that OpenAI stores (previousResponseId, conversationId): Millrace sends the whole history. Pass it as input, or use a session',
    );
  if (prompt)
    throw new UserError(
      `Cannot use prompt template ${prompt.promptId}: OpenAI stores it. Write it as the agent's instructions`,
    );
}

/** Returns the definitions of tools and hand-offs. A model sees both as tools. */
function toolDefinitions({
  tools,
  handoffs,
}: Pick<SdkRequest, 'tools' | 'handoffs'>): readonly ToolDefinition[] {
  return [
    ...tools.map((tool): ToolDefinition => {
      if (tool.type !== 'function') throw hostedToolError(tool.type, tool.name);
      const { name, description, parameters, strict } = tool;
      return { name, description, inputSchema: objectSchema(parameters), strict };
    }),
    ...handoffs.map(({ toolName, toolDescription, inputJsonSchema, strictJsonSchema }) => ({
      ...{ name: toolName, description: toolDescription, strict: strictJsonSchema },
      inputSchema: objectSchema(inputJsonSchema),
    })),
  ];
}

/**
 * Returns the schema of a tool's input. A tool without input may have no schema. It then gets an empty
 * schema.
 */
function objectSchema(given: object): JsonObject {
  const none = { type: 'object', properties: {}, required: [], additionalProperties: false };
  return 'type' in given ? (given as JsonObject) : none;
}

function hostedToolError(type: string, name: string): UserError {
  return new UserError(
    `Cannot offer tool “${name}” of type ${type} to a Millrace provider: only function tools work with every provider. ` +
      'Pass tools that the provider hosts in modelSettings.providerData, in the format of its API',
  );
}
