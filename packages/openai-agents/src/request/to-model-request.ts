import type { JsonObject } from '@millrace/core';
import type {
  ModelRequest,
  ReasoningEffort,
  ToolChoice,
  ToolDefinition,
} from '@millrace/providers';
import { type ModelSettings, type ModelRequest as SdkRequest, UserError } from '@openai/agents';
import { toItems } from './convert-items.ts';

/** What the SDK asks, in Millrace's words. Throws `UserError` for what no provider of ours could be asked. */
export function toModelRequest(request: SdkRequest): ModelRequest {
  assertWhole(request);
  const { input, systemInstructions, modelSettings, outputType } = request;
  const { items, cachePoints } = toItems(input, systemInstructions);
  const tools = toolDefinitions(request);
  return {
    items,
    ...(tools.length > 0 && { tools, toolChoice: choiceOf(modelSettings.toolChoice) }),
    ...settingsOf(modelSettings),
    reasoning: effortOf(request),
    ...(outputType !== 'text' && { output: outputOf(outputType) }),
    ...(cachePoints.length > 0 && {
      cache: { upTo: cachePoints, longLived: modelSettings.promptCacheRetention === '24h' },
    }),
  };
}

function settingsOf(settings: ModelSettings) {
  const { maxTokens, temperature, topP, providerData } = settings;
  const providerOptions = providerData as JsonObject | undefined;
  return { maxOutputTokens: maxTokens, temperature, topP, providerOptions };
}

function choiceOf(choice: string | undefined): ToolChoice | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required')
    return choice;
  return { name: choice };
}

/** Where nobody chose one, the SDK fills in what OpenAI's default model likes: that is not for ours. */
function effortOf(request: SdkRequest): ReasoningEffort | undefined {
  const { effort } = request.modelSettings.reasoning ?? {};
  const { _internal: hidden } = request as { _internal?: { reasoningEffortImplicit?: boolean } };
  if (effort === undefined || effort === null || hidden?.reasoningEffortImplicit) return undefined;
  return effort === 'xhigh' ? 'max' : effort;
}

function outputOf({ name, schema, strict }: Exclude<SdkRequest['outputType'], 'text'>) {
  return { name, schema: schema as unknown as JsonObject, strict };
}

/** Half a conversation would be answered as if it were all of it. */
function assertWhole({ previousResponseId, conversationId, prompt }: SdkRequest): void {
  if (previousResponseId || conversationId)
    throw new UserError(
      'Cannot go on with a conversation that OpenAI keeps (previousResponseId, conversationId): Millrace sends the whole history. Give it as input, or use a session',
    );
  if (prompt)
    throw new UserError(
      `Cannot use prompt template ${prompt.promptId}: it is kept by OpenAI. Write it as the agent's instructions`,
    );
}

/** The tools and the hand-offs, which are tools to a model. */
export function toolDefinitions({
  tools,
  handoffs,
}: Pick<SdkRequest, 'tools' | 'handoffs'>): readonly ToolDefinition[] {
  return [
    ...tools.map((tool): ToolDefinition => {
      if (tool.type !== 'function') throw hosted(tool.type, tool.name);
      const { name, description, parameters, strict } = tool;
      return { name, description, inputSchema: objectSchema(parameters), strict };
    }),
    ...handoffs.map(({ toolName, toolDescription, inputJsonSchema, strictJsonSchema }) => ({
      ...{ name: toolName, description: toolDescription, strict: strictJsonSchema },
      inputSchema: objectSchema(inputJsonSchema),
    })),
  ];
}

/** A tool without input may come without a schema. */
function objectSchema(given: object): JsonObject {
  const none = { type: 'object', properties: {}, required: [], additionalProperties: false };
  return 'type' in given ? (given as JsonObject) : none;
}

function hosted(type: string, name: string): UserError {
  return new UserError(
    `Cannot offer tool “${name}” of type ${type} to a Millrace provider: only function tools are the same everywhere. ` +
      'Give what the provider itself hosts in modelSettings.providerData, as its API has it',
  );
}
