import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Validated } from './tool.ts';

/** What a schema makes of a value, with what is wrong in words that help the model: a line for each. */
export async function checkInput(schema: StandardSchemaV1, input: unknown): Promise<Validated> {
  return judged(await schema['~standard'].validate(input));
}

function judged(result: StandardSchemaV1.Result<unknown>): Validated {
  if (result.issues !== undefined)
    return { ok: false, problem: result.issues.map(asLine).join('\n') };
  return { ok: true, value: result.value };
}

function asLine({ message, path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((key) => String(typeof key === 'object' ? key.key : key));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}
