import { isJsonObject, type JsonObject, type ToolResultPart } from '@millrace/core';
import { attachmentContent, contentUrl } from '../../history/attachment.ts';
import { arrayIn, countIn, objectIn, objectsIn, textIn } from '../../json/fields.ts';
import { functionTool } from '../tools.ts';

/** The call that an output answers: the item that was sent, and the id that the output must repeat. */
interface AnsweredCall {
  readonly item: JsonObject;
  readonly callId: string;
}

/**
 * Converts the result of a built-in tool to the item that answers its call. Returns undefined if the API
 * cannot express the result. For example, the computer tool must return an image.
 */
export function builtInOutput(call: AnsweredCall, result: ToolResultPart): JsonObject | undefined {
  const { item, callId: call_id } = call;
  const { text, isError } = result;
  // If a program made the call, the output must contain the id of that program.
  const caller = objectIn(item, 'caller');
  const head = { call_id, ...(caller === undefined ? {} : { caller }) };
  switch (item['type']) {
    case 'shell_call':
      return { type: 'shell_call_output', ...head, ...shellOutput(item, result) };
    case 'local_shell_call':
      return { type: 'local_shell_call_output', id: call_id, output: text };
    case 'apply_patch_call':
      return {
        type: 'apply_patch_call_output',
        ...head,
        status: isError ? 'failed' : 'completed',
        output: text,
      };
    case 'computer_call': {
      const output = screenshotOf(result);
      const checks = objectsIn(item, 'pending_safety_checks');
      const acknowledged = checks.length === 0 ? {} : { acknowledged_safety_checks: checks };
      return output && { type: 'computer_call_output', call_id, output, ...acknowledged };
    }
    case 'tool_search_call':
      return {
        type: 'tool_search_output',
        call_id,
        execution: 'client',
        status: 'completed',
        tools: foundTools(result),
      };
    case 'mcp_approval_request':
      return {
        type: 'mcp_approval_response',
        approval_request_id: textIn(item, 'id') ?? call_id,
        approve: !isError,
        ...(isError && text !== '' ? { reason: text } : {}),
      };
    default:
      return undefined;
  }
}

/** Returns the output of a shell. It is the tool's own list of outputs, or one output for all commands. */
function shellOutput(item: JsonObject, result: ToolResultPart): JsonObject {
  const limit = countIn(objectIn(item, 'action'), 'max_output_length');
  const outputs = isJsonObject(result.value) ? arrayIn(result.value, 'output') : [];
  return {
    output: outputs.length > 0 ? outputs : [commandOutput(result)],
    ...(limit === undefined ? {} : { max_output_length: limit }),
  };
}

/** Returns the output of a command. A call that did not run has an error, but no exit code and no timeout. */
function commandOutput({ text, isError, value }: ToolResultPart): JsonObject {
  const facts = isJsonObject(value) ? value : {};
  if (facts['timedOut'] === true) return { stdout: text, stderr: '', outcome: { type: 'timeout' } };
  const exitCode = typeof facts['exitCode'] === 'number' ? facts['exitCode'] : undefined;
  const hasRun = exitCode !== undefined || !isError;
  return {
    stdout: hasRun ? text : '',
    stderr: hasRun ? '' : text,
    outcome: { type: 'exit', exit_code: exitCode ?? (isError ? 1 : 0) },
  };
}

function screenshotOf({ attachments = [] }: ToolResultPart): JsonObject | undefined {
  const picture = attachments.find(
    ({ mimeType, source }) => mimeType.startsWith('image/') && source.type !== 'blob',
  );
  if (picture === undefined) return undefined;
  const content = attachmentContent(picture);
  const place =
    content.type === 'file' ? { file_id: content.id } : { image_url: contentUrl(content) };
  return { type: 'computer_screenshot', ...place };
}

/**
 * Converts the tools that a search found. Tools that are already in the format of the API stay
 * unchanged.
 */
function foundTools({ value }: ToolResultPart): readonly JsonObject[] {
  const tools = isJsonObject(value) ? objectsIn(value, 'tools') : [];
  return tools.flatMap((tool) => {
    if (textIn(tool, 'type') !== undefined) return [tool];
    const name = textIn(tool, 'name');
    if (name === undefined) return [];
    const inputSchema: JsonObject = objectIn(tool, 'inputSchema') ?? { type: 'object' };
    const description = textIn(tool, 'description');
    return [{ ...functionTool({ name, description, inputSchema }, []), defer_loading: true }];
  });
}
