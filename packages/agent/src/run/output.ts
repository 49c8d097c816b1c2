import { type Item, type ItemId, type JsonValue, transcript } from '@millrace/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { AgentError } from '../contract/agent-error.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Output } from '../contract/settings.ts';
import type { ValidationResult } from '../contract/tool.ts';
import { jsonSchemaOf, validateWithSchema, withoutNulls } from '../tool/schema.ts';

export function createOutput(schema: StandardSchemaV1 | undefined): Output | undefined {
  if (schema === undefined) return undefined;
  const jsonSchema = jsonSchemaOf(schema);
  if (jsonSchema === undefined) throw noJsonSchema();
  const missing = { ok: false, problem: 'There is no answer in JSON.' } as const;
  const check = async (value: JsonValue | undefined) =>
    value === undefined
      ? missing
      : validateWithSchema(schema, await withoutNulls(jsonSchema, value));
  return { schema: jsonSchema, check };
}

/** Returns the structured value of an answer, if it has one. */
export function structuredValue(item: Item | undefined): JsonValue | undefined {
  return item?.parts.findLast((part) => part.kind === 'structured')?.value;
}

function noJsonSchema(): AgentError {
  const message =
    'Cannot use the output schema: its library does not produce JSON Schema. Use one that does, such as Zod';
  return new AgentError('bad_option', message);
}

/** Validates the last answer. Returns undefined if the agent has no `output` schema. */
export async function checkAnswer({
  settings,
  journal,
}: RunContext): Promise<ValidationResult | undefined> {
  const last = transcript(journal.state).findLast(({ kind }) => kind === 'assistant');
  return settings.output?.check(structuredValue(last));
}

/** The metadata of items that the loop created. It distinguishes these items from user input. */
export const loopMetadata = { by: 'the loop' } as const;

/** Returns the item that asks the model to answer again, with the problem of the previous answer. */
export function repairItem(id: ItemId, problem: string): Item {
  const text = `Your answer does not fit what was asked for:\n${problem}\nAnswer again.`;
  return { id, kind: 'developer', parts: [{ kind: 'text', text }], metadata: loopMetadata };
}
