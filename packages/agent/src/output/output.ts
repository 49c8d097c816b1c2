import type { Item, JsonObject, JsonValue } from '@millrace/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { AgentError } from '../errors/agent-error.ts';
import { checkInput } from '../tool/check-input.ts';
import { jsonSchemaOf } from '../tool/json-schema-of.ts';
import type { Validated } from '../tool/tool.ts';

/** What an agent's answers have to be like. */
export interface Output {
  /** As the model is told. */
  readonly schema: JsonObject;
  check(value: JsonValue | undefined): Promise<Validated>;
}

export function outputOf(schema: StandardSchemaV1 | undefined): Output | undefined {
  if (schema === undefined) return undefined;
  const told = jsonSchemaOf(schema);
  if (told === undefined) throw noSchema();
  const missing = { ok: false, problem: 'There is no answer in JSON.' } as const;
  const check = async (value: JsonValue | undefined) =>
    value === undefined ? missing : checkInput(schema, value);
  return { schema: told, check };
}

/** The value that an answer has. */
export function answeredValue(item: Item | undefined): JsonValue | undefined {
  return item?.parts.findLast((part) => part.kind === 'structured')?.value;
}

function noSchema(): AgentError {
  const message =
    'Cannot ask for output: its schema library does not give JSON Schema. Use one that does, such as Zod';
  return new AgentError('bad_option', message);
}
