import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import type { BlockContext, OpenBlock } from './open-block.ts';
import { OpenCustom } from './open-custom.ts';
import { OpenOutput } from './open-output.ts';
import { OpenText } from './open-text.ts';
import { OpenThinking } from './open-thinking.ts';
import { OpenToolUse } from './open-tool-use.ts';

export function beginBlock(start: JsonObject, context: BlockContext): OpenBlock {
  switch (start['type']) {
    case 'text':
      return new OpenText(context, start);
    case 'thinking':
      return new OpenThinking(context, start);
    case 'redacted_thinking':
      return redacted(start, context);
    case 'tool_use': {
      const isOutput = context.outputTool !== undefined && start['name'] === context.outputTool;
      return isOutput ? new OpenOutput(context, start) : new OpenToolUse(context, start);
    }
    default:
      return new OpenCustom(context, start);
  }
}

/** Comes whole, and nobody but its maker can read it. */
function redacted(start: JsonObject, { writer, state }: BlockContext): OpenBlock {
  const providerState = state({ data: textIn(start, 'data') ?? '' });
  writer.whole({ kind: 'reasoning', text: '', form: 'redacted', providerState });
  return { delta: () => {}, close: () => {} };
}
