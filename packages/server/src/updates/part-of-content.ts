import {
  type JsonObject,
  type Part,
  type ReasoningForm,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import type { Content, ContentOf } from '../contract/content.ts';
import { headOf } from './content-head.ts';

/**
 * The parts that say what a message says: one, or one for each entry of a reasoning block. `extra` is
 * metadata that goes with the first.
 */
export function partsOfContent(
  content: Content,
  extra: JsonObject = {},
): readonly [Part, ...Part[]] {
  const all: JsonObject = { ...headOf(content), ...extra };
  const metadata = Object.keys(all).length === 0 ? {} : { metadata: all };
  switch (content.type) {
    case 'text':
      return [{ kind: 'text', text: content.content, ...metadata }];
    case 'data':
      return [{ kind: 'structured', value: content.data, ...metadata }];
    case 'tool_request': {
      const id = toolCallId(content.tool_call_id);
      return [{ ...toolCallPart(id, content.name, content.arguments), ...metadata }];
    }
    case 'tool_response':
      return [{ ...resultPart(content), ...metadata }];
    case 'reasoning': {
      const [first, ...others] = entriesOf(content);
      return [{ ...first, ...metadata }, ...others];
    }
  }
}

function resultPart({ tool_call_id, name, content, is_error }: ContentOf<'tool_response'>): Part {
  const head = { kind: 'tool_result', toolCallId: toolCallId(tool_call_id), name } as const;
  const isError = is_error ?? false;
  if (typeof content === 'string') return { ...head, text: content, isError };
  return { ...head, text: JSON.stringify(content), value: content, isError };
}

/** A block without an entry is there all the same: that the model thought, and nothing to read. */
function entriesOf({
  summary,
  content,
}: Pick<ContentOf<'reasoning'>, 'summary' | 'content'>): readonly [Part, ...Part[]] {
  const entry = (form: ReasoningForm) => (text: string) =>
    ({ kind: 'reasoning', form, text }) as const;
  const [first, ...others] = [
    ...summary.map(entry('summary')),
    ...(content ?? []).map(entry('full')),
  ];
  return [first ?? entry('redacted')(''), ...others];
}
