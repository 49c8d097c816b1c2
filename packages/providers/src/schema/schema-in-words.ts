import type { Item, Part } from '@millrace/core';
import { itemId } from '@millrace/core';
import type { ModelRequest, OutputSchema } from '../contract/model-request.ts';

/**
 * Returns the request with an instruction that describes the output, for APIs without schemas. The new
 * instruction follows the first instruction, which is the agent's own. Its position therefore does not change
 * if further instructions are added at the start.
 */
export function withSchemaInWords(request: ModelRequest, output: OutputSchema): ModelRequest {
  const { items } = request;
  const at = items[0]?.kind === 'system' || items[0]?.kind === 'developer' ? 1 : 0;
  return { ...request, items: [...items.slice(0, at), schemaItem(output), ...items.slice(at)] };
}

/**
 * Creates the instruction. It contains the word "json", because DeepSeek rejects a request for JSON if that
 * word is missing.
 */
function schemaItem({ schema }: OutputSchema): Item {
  const text = `Answer with one json object and nothing else: no introduction, no code fence. It must match this JSON Schema:\n${JSON.stringify(schema)}`;
  const part: Part = { kind: 'text', text };
  return { id: itemId('output-schema'), kind: 'system', parts: [part] };
}
