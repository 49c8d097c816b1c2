import type { Item, Part } from '@millrace/core';
import { itemId } from '@millrace/core';
import type { ModelRequest, OutputSchema } from '../contract/model-request.ts';

/**
 * Returns the request with an instruction that describes the output, for APIs without schemas. The
 * instruction follows the other instructions at the start, so that later turns do not move it.
 */
export function withSchemaInWords(request: ModelRequest, output: OutputSchema): ModelRequest {
  const { items } = request;
  const start = items.findIndex(({ kind }) => kind !== 'system' && kind !== 'developer');
  const at = start < 0 ? items.length : start;
  return { ...request, items: [...items.slice(0, at), schemaItem(output), ...items.slice(at)] };
}

/** DeepSeek rejects a request for JSON without the word "json" in a message. */
function schemaItem({ schema }: OutputSchema): Item {
  const text = `Answer with one json object and nothing else: no introduction, no code fence. It must match this JSON Schema:\n${JSON.stringify(schema)}`;
  const part: Part = { kind: 'text', text };
  return { id: itemId('output-schema'), kind: 'system', parts: [part] };
}
