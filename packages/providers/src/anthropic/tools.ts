import type { JsonObject } from '@millrace/core';
import type { ModelRequest, ToolChoice, ToolDefinition } from '../contract/model-request.ts';
import { textIn } from '../json/fields.ts';
import { anthropicStrictRules, enforcedSchema, strictSchema } from '../schema/strict-schema.ts';
import { withToolOptions } from '../wire/provider-options.ts';
import type { AnthropicModel, AnthropicOptions } from './options.ts';

export interface ToolFields {
  readonly tools?: readonly JsonObject[];
  readonly tool_choice?: JsonObject;
}

/** Returns the body fields for the request's tools, for the provider's own tools and for the output tool. */
export function toolFields(
  request: ModelRequest,
  options: AnthropicModel,
  outputTool: string | undefined,
  warnings: string[],
): ToolFields {
  const { tools = [], toolChoice } = request;
  const hosted: readonly JsonObject[] = options.extraTools ?? [];
  // The agent may run a tool that Anthropic defines, such as `bash`. The request then contains only
  // Anthropic's definition, because the API rejects two tools of the same name.
  const replaced = new Set(hosted.map((tool) => textIn(tool, 'name')));
  const functions = tools.filter(({ name }) => !replaced.has(name));
  const allTools = [...functions.map((tool) => toolField(tool, options, warnings)), ...hosted];
  const choiceOf = (choice: ToolChoice) => choiceField(choice, options, warnings);
  if (outputTool !== undefined && request.output !== undefined) {
    const outputToolField = {
      name: outputTool,
      description: 'Takes the answer. Call it with the whole of it.',
      input_schema: objectSchema(request.output.schema),
    };
    const isOnly = allTools.length === 0 || toolChoice === 'none';
    const choice = isOnly ? { name: outputTool } : outputChoice(toolChoice);
    return {
      tools: [...allTools, outputToolField],
      tool_choice: { ...choiceOf(choice), ...noParallelCalls },
    };
  }
  if (allTools.length === 0) return {};
  return {
    tools: allTools,
    ...(toolChoice === undefined ? {} : { tool_choice: choiceOf(toolChoice) }),
  };
}

/**
 * Forbids parallel calls. If the output arrived together with other calls, it could not use their results.
 */
const noParallelCalls = { disable_parallel_tool_use: true };

/**
 * Returns a tool choice that forces the model to call a tool: one of the request's tools, or the output tool.
 */
function outputChoice(choice: ToolChoice | undefined): ToolChoice {
  return typeof choice === 'object' ? choice : 'required';
}

function toolField(
  tool: ToolDefinition,
  { eagerInputStreaming }: AnthropicOptions,
  warnings: string[],
): JsonObject {
  const { name, description, inputSchema, strict } = tool;
  const sent = strict
    ? enforcedSchema({ name, schema: inputSchema }, anthropicStrictRules, warnings)
    : { schema: inputSchema, strict: false };
  const field = {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: objectSchema(sent.schema),
    ...(sent.strict ? { strict: true } : {}),
    ...(eagerInputStreaming === true ? { eager_input_streaming: true } : {}),
  };
  return withToolOptions(field, tool, 'anthropic');
}

/** Adds the type `object`, because the API rejects a schema without a type. */
function objectSchema(schema: JsonObject): JsonObject {
  return { type: 'object', ...schema };
}

function choiceField(
  choice: ToolChoice,
  { model, traits }: AnthropicModel,
  warnings: string[],
): JsonObject {
  if (choice !== 'auto' && choice !== 'none' && !traits.forcedTools) {
    warnings.push(`${model} cannot be forced to call a tool; it may also answer without one`);
    return { type: 'auto' };
  }
  switch (choice) {
    case 'auto':
    case 'none':
      return { type: choice };
    case 'required':
      return { type: 'any' };
    default:
      return { type: 'tool', name: choice.name };
  }
}

/** Maximum length of the name. A longer name would leave no space for a number at its end. */
const maxNameLength = 60;

/**
 * Returns the name of the tool that receives the requested output, or undefined if no such tool is needed.
 * The name is unique, so the reader can recognize the call.
 */
export function outputToolName(
  { output, tools = [] }: ModelRequest,
  { traits, structuredOutput }: AnthropicModel,
): string | undefined {
  if (output === undefined) return undefined;
  // If the request sets a format, the API always enforces the schema. A tool also accepts schemas that the
  // API cannot enforce.
  const isEnforceable = () => strictSchema(output.schema, anthropicStrictRules).isStrict;
  const isFormat = traits.structuredOutput === 'format' && isEnforceable();
  if ((structuredOutput ?? (isFormat ? 'format' : 'tool')) === 'format') return undefined;
  const taken = new Set(tools.map(({ name }) => name));
  const fitting = output.name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxNameLength) || 'output';
  // The list has more names than there are tools, so at least one of its names is free.
  const names = [fitting, ...[...taken].map((_, again) => `${fitting}_${again + 1}`)];
  return names.find((name) => !taken.has(name)) ?? fitting;
}
