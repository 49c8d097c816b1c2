import type { JsonValue, RejectionCode, ToolCallPart } from '@millrace/core';
import { textOfError } from '../contract/agent-error.ts';
import type { CheckedToolCall, Tool } from '../contract/tool.ts';
import { withoutNulls } from '../tool/schema.ts';

type PreparedCall =
  | ({ readonly ok: true } & CheckedToolCall)
  | { readonly ok: false; readonly code: RejectionCode; readonly message: string };

/**
 * Finds the tool of a call and validates the input. If the call cannot run, it returns an error with a
 * message for the model. A tool therefore never runs with partial or invalid input.
 */
export async function prepareCall(
  call: ToolCallPart,
  tools: ReadonlyMap<string, Tool>,
  changed?: JsonValue,
  offered: readonly string[] = [],
): Promise<PreparedCall> {
  const tool = tools.get(call.name);
  if (tool === undefined) {
    const { missingToolMessage } = await import('../tool/imprecise-call.ts');
    return { ok: false, code: 'unknown', message: missingToolMessage(call.name, tools, offered) };
  }
  const rawInput = changed === undefined ? call.input : changed;
  if (rawInput === undefined || call.partial)
    return {
      ok: false,
      code: 'invalid',
      message: 'The arguments are not JSON. Make the call again.',
    };
  try {
    const validated = await tool.validate(await withoutNulls(tool.inputSchema, rawInput));
    if (!validated.ok)
      return {
        ok: false,
        code: 'invalid',
        message: `The arguments do not fit:\n${shortened(validated.problem)}`,
      };
    const { value: input } = validated;
    const { name } = tool;
    return { ok: true, name, call, tool, input, summary: summaryOf(tool, input) };
  } catch (error) {
    const message = `The arguments could not be checked: ${shortened(textOfError(error))}`;
    return { ok: false, code: 'invalid', message };
  }
}

const longestProblem = 10_000;
const longestSummary = 200;

function shortened(text: string): string {
  return text.length > longestProblem ? `${text.slice(0, longestProblem)}…`.toWellFormed() : text;
}

function summaryOf(tool: Tool, input: unknown): string {
  try {
    const line = tool.summarize(input).replaceAll(/\s+/g, ' ').toWellFormed();
    return line.length > longestSummary ? `${line.slice(0, longestSummary)}…`.toWellFormed() : line;
  } catch {
    return tool.name;
  }
}
