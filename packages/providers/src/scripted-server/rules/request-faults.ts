import type { JsonValue } from '@millrace/core';
import type { WireName } from '../answers/wire-answer.ts';
import { anthropicFaults } from './anthropic.ts';
import { fieldsOf, textOf } from './document.ts';
import { anthropicFields } from './fields/anthropic.ts';
import { type FieldExtension, fieldExtensions } from './fields/field-extensions.ts';
import { type FieldTable, fieldFaults } from './fields/field-faults.ts';
import { geminiFields } from './fields/gemini.ts';
import { chatFields } from './fields/openai-chat.ts';
import { responsesFields } from './fields/openai-responses.ts';
import { geminiFaults } from './gemini.ts';
import { chatFaults, isReasoningModel } from './openai-chat.ts';
import { responsesFaults } from './openai-responses.ts';

/**
 * Returns the reasons why the provider of a wire format would reject a request: unknown fields, and
 * violations of the rules of its API. The list is empty for a valid request.
 */
export function requestFaults(
  wire: WireName,
  body: JsonValue | undefined,
  model: string = textOf(fieldsOf(body)['model']),
): readonly string[] {
  const faults = [...fieldFaults(body, tables[wire]), ...ruleFaults(wire, body, model)];
  return [...new Set(faults)];
}

function ruleFaults(wire: WireName, body: JsonValue | undefined, model: string): readonly string[] {
  switch (wire) {
    case 'anthropic':
      return anthropicFaults(body);
    case 'gemini':
      return geminiFaults(body, { model });
    case 'openai-chat':
      return chatFaults(body, { isReasoningModel: isReasoningModel(model) });
    case 'openai-responses':
      return responsesFaults(body);
  }
}

/** The request fields that the types of the providers' SDKs contain. */
export const sdkFields: Readonly<Record<WireName, FieldTable>> = {
  anthropic: anthropicFields,
  gemini: geminiFields,
  'openai-chat': chatFields,
  'openai-responses': responsesFields,
};

const tables: Readonly<Record<WireName, FieldTable>> = {
  anthropic: extended(anthropicFields, fieldExtensions.anthropic),
  gemini: extended(geminiFields, fieldExtensions.gemini),
  'openai-chat': extended(chatFields, fieldExtensions['openai-chat']),
  'openai-responses': extended(responsesFields, fieldExtensions['openai-responses']),
};

function extended(table: FieldTable, extensions: readonly FieldExtension[]): FieldTable {
  const added = Map.groupBy(extensions, ({ shape }) => shape);
  return Object.fromEntries(
    Object.entries(table).map(([name, fields]) => {
      const more = (added.get(name) ?? []).map(({ field }) => field);
      return [name, [fields, ...more].join(' ')];
    }),
  );
}
