import { parseJson } from '@millrace/core';
import type { ContentInput } from '@millrace/server';
import type { protocol } from '@openai/agents';
import { keptPart } from '../response/kept-part.ts';
import { isObject } from './call-content.ts';

/** What a message of the model says: data where a schema was asked for, else its text. */
export function messageContent({ content }: protocol.AssistantMessageItem): ContentInput {
  const author = 'agent';
  const [first] = content;
  if (first?.type === 'image') return { type: 'data', author, data: { image: first.image } };
  if (first?.type === 'output_text' && keptPart(first)?.kind === 'structured') {
    const parsed = parseJson(first.text);
    const value = parsed.ok ? parsed.value : first.text;
    return { type: 'data', author, data: isObject(value) ? value : { value } };
  }
  return { type: 'text', author, content: content.map(textIn).join('') };
}

function textIn(content: protocol.AssistantMessageItem['content'][number]): string {
  if (content.type === 'output_text') return content.text;
  return content.type === 'refusal' ? content.refusal : '';
}
