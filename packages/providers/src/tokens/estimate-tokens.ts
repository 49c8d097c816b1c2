import type { Part } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';

/**
 * The average number of characters per token in current tokenizers. There are two numbers: one for English
 * text and code, and one for other scripts.
 */
const asciiPerToken = 4;
const othersPerToken = 1.5;
/** The number of tokens that the format of a message adds. */
const tokensPerItem = 4;
const tokensPerPicture = 1000;

/**
 * Estimates the input tokens of a request from its length. The real number can differ by a third or more. For
 * an exact number, use `countTokens` of the provider.
 *
 * @example
 * if (estimateTokens(request) > 100_000) console.log('This will be expensive');
 */
export function estimateTokens({ items, tools = [], output }: ModelRequest): number {
  const parts = items.reduce((total, item) => total + tokensOfParts(item.parts), 0);
  const described = tools.reduce((total, tool) => total + tokensOf(JSON.stringify(tool)), 0);
  const schema = output === undefined ? 0 : tokensOf(JSON.stringify(output.schema));
  return parts + items.length * tokensPerItem + described + schema;
}

function tokensOfParts(parts: readonly Part[]): number {
  return parts.reduce((total, part) => total + tokensOfPart(part), 0);
}

function tokensOfPart(part: Part): number {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return tokensOf(part.text);
    case 'tool_call':
      return tokensOf(part.name) + tokensOf(part.arguments);
    case 'tool_result':
      return tokensOf(part.text) + tokensOfParts(part.attachments ?? []);
    case 'structured':
    case 'custom':
      return tokensOf(JSON.stringify(part.value) ?? '');
    case 'media':
      return tokensPerPicture;
    case 'file':
      return part.source.type === 'bytes'
        ? Math.ceil(part.source.bytes.length / asciiPerToken)
        : tokensPerPicture;
  }
}

function tokensOf(text: string): number {
  let others = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) others++;
  return Math.ceil((text.length - others) / asciiPerToken + others / othersPerToken);
}
