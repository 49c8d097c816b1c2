import type { JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { AnthropicOptions } from './anthropic-options.ts';
import type { Turn } from './messages.ts';
import { traitsOf } from './model-traits.ts';
import { outputToolName } from './output-tool.ts';
import { forcedFields, mayThinkOn, type ThinkingFields, thinkingFields } from './thinking.ts';
import { type ToolFields, toolFields } from './tools.ts';

/** How the model is asked: all but what it is told. */
export function askedFields(
  request: ModelRequest,
  options: AnthropicOptions,
  turns: readonly Turn[],
): JsonObject {
  const traits = traitsOf(options.model);
  const maxTokens = request.maxOutputTokens ?? options.maxTokens ?? traits.maxTokens;
  const outputTool = outputToolName(request, options);
  const tools = toolFields(request, options, outputTool);
  const style = { ...traits, thinking: options.thinking ?? traits.thinking };
  const mayThink = style.thinking !== 'budget' || mayThinkOn(turns);
  const effort = mayThink ? request.reasoning : undefined;
  const thinking = isForced(tools)
    ? forcedFields(effort, style)
    : thinkingFields(effort, style, maxTokens);
  return {
    max_tokens: maxTokens,
    ...tools,
    ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
    ...outputConfig(request, thinking, outputTool),
    ...sampling(request, thinking, traits.takesTemperature),
    ...(request.stopSequences === undefined ? {} : { stop_sequences: request.stopSequences }),
  };
}

/** A model that has to call a tool cannot think first. */
function isForced({ tool_choice: choice }: ToolFields): boolean {
  return choice?.['type'] === 'any' || choice?.['type'] === 'tool';
}

function outputConfig(
  { output }: ModelRequest,
  { effort }: ThinkingFields,
  outputTool: string | undefined,
): JsonObject {
  const isFormat = output !== undefined && outputTool === undefined;
  if (!isFormat && effort === undefined) return {};
  const format = isFormat ? { format: { type: 'json_schema', schema: output.schema } } : {};
  return { output_config: { ...format, ...(effort === undefined ? {} : { effort }) } };
}

/** A model that thinks takes neither, and none takes both. */
function sampling(
  { temperature, topP }: ModelRequest,
  { thinking }: ThinkingFields,
  isTaken: boolean,
): JsonObject {
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled';
  if (isThinking || !isTaken) return {};
  if (temperature !== undefined) return { temperature };
  return topP === undefined ? {} : { top_p: topP };
}
