import type { Content } from '../contract/content.ts';
import type { UpdateInput } from '../contract/message.ts';

/** A message that goes on, as updates that say what it has so far. */
export function openingUpdates(content: Content): readonly UpdateInput[] {
  switch (content.type) {
    case 'text': {
      const start = { ...content, content: '' };
      return [{ type: 'start', content: start }, ...textDelta(content.content)];
    }
    case 'data': {
      const text = Object.keys(content.data).length === 0 ? '' : JSON.stringify(content.data);
      const delta = { type: 'data', data_delta: text } as const;
      return [{ type: 'start', content: { ...content, data: {} } }, ...unlessEmpty(text, delta)];
    }
    case 'tool_request': {
      const { tool_call_id, name, arguments: input } = content;
      const text = Object.keys(input).length === 0 ? '' : JSON.stringify(input);
      const delta = { type: 'tool_request', tool_call_id, name, arguments_delta: text } as const;
      const start = { ...content, arguments: {} };
      return [{ type: 'start', content: start }, ...unlessEmpty(text, delta)];
    }
    case 'tool_response': {
      const { tool_call_id, name, content: said } = content;
      const text = typeof said === 'string' ? said : JSON.stringify(said);
      const delta = { type: 'tool_response', tool_call_id, name, content_delta: text } as const;
      const start = { ...content, content: '' };
      return [{ type: 'start', content: start }, ...unlessEmpty(text, delta)];
    }
    case 'reasoning': {
      const start = { ...content, summary: [], content: null };
      const summaries = content.summary.map((summary_delta, summary_index) => ({
        ...({ type: 'delta', index: null } as const),
        delta: { type: 'reasoning_summary', summary_index, summary_delta } as const,
      }));
      const contents = (content.content ?? []).map((content_delta, content_index) => ({
        ...({ type: 'delta', index: null } as const),
        delta: { type: 'reasoning_content', content_index, content_delta } as const,
      }));
      return [{ type: 'start', content: start }, ...summaries, ...contents];
    }
  }
}

function textDelta(text_delta: string): readonly UpdateInput[] {
  return unlessEmpty(text_delta, { type: 'text', text_delta });
}

type DeltaInput = NonNullable<Extract<UpdateInput, { type: 'delta' }>['delta']>;

function unlessEmpty(text: string, delta: DeltaInput): readonly UpdateInput[] {
  return text === '' ? [] : [{ type: 'delta', delta }];
}
