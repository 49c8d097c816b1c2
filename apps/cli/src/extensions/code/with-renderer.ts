import type { Tool, ToolContext, ToolExecution, ToolReturn } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import type { ExtensionCode } from '../../contract/extensions.ts';
import { outputOf } from '../tool-names.ts';

/**
 * Returns a tool whose results have a text of a renderer beside them, as `display` in their metadata. The text
 * is on the log, so that each screen can show it, also later. The model gets the original result.
 */
export function withRenderer(code: ExtensionCode | undefined, tool: Tool): Tool {
  if (code?.rendered.has(tool.name) !== true) return tool;
  const after = async (input: unknown, returned: ToolReturn): Promise<ToolReturn> => {
    const output = outputOf(returned);
    const { text } = output;
    const given = { tool: tool.name, input: input as JsonValue, text };
    const display = await code.render(given);
    if (display === undefined) return returned;
    return { output: { ...output, metadata: { ...output.metadata, display } } };
  };
  const execute = (input: unknown, context: ToolContext): ToolExecution => {
    const execution = tool.execute(input, context);
    if (!(Symbol.asyncIterator in execution))
      return execution.then((returned) => after(input, returned));
    return (async function* () {
      return await after(input, yield* execution);
    })();
  };
  return { ...tool, execute };
}
