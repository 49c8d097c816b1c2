import {
  encodeTranscript,
  type Item,
  type JsonObject,
  type JsonValue,
  parseJson,
} from '@millrace/core';
import type { Command } from '../contract/request-bodies.ts';
import { takeContent } from '../tasks/take-content.ts';
import { partsOfContent } from '../updates/part-of-content.ts';

/** As the loop reads it from the log. */
export function loopCommand(command: Command, id: Item['id']): JsonObject {
  switch (command.type) {
    case 'message':
    case 'steer': {
      const when = command.type === 'steer' ? 'steer' : 'follow_up';
      const parts = takeContent(() => partsOfContent(command.content));
      const item: Item = { id, kind: 'user', parts };
      return { type: 'message', when, items: takeContent(() => itemsJson([item])) };
    }
    case 'approve': {
      const { type, tool_call_id: toolCallId, by, input, until } = command;
      return {
        ...{ type, toolCallId, ...(by != null && { by }) },
        ...{ ...(input !== undefined && { input }), ...(until != null && { until }) },
      };
    }
    case 'deny': {
      const { type, tool_call_id: toolCallId, by, reason } = command;
      return { type, toolCallId, ...(by != null && { by }), ...(reason != null && { reason }) };
    }
    case 'abort':
      return { type: 'abort', ...(command.reason != null && { reason: command.reason }) };
    case 'compact':
      return { type: 'compact' };
    case 'withdraw':
      return { type: 'withdraw', key: command.key };
    case 'revoke':
      return { type: 'revoke', rule: command.rule };
  }
}

function itemsJson(items: readonly Item[]): JsonValue {
  const parsed = parseJson(encodeTranscript(items));
  return parsed.ok ? ((parsed.value as JsonObject)['items'] ?? []) : [];
}
