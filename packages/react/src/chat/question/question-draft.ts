import type { FormField, JsonObject, JsonValue } from '@millrace/core';

/** The value that the user has entered in a field: a text, a mark, or the chosen options. */
export type DraftValue = string | boolean | readonly string[];

/** The entries of the user, in the order of the fields. */
export type Draft = readonly DraftValue[];

/** Returns the entries with which a form starts. */
export function initialDraft(fields: readonly FormField[]): Draft {
  return fields.map(initialValue);
}

function initialValue(field: FormField): DraftValue {
  switch (field.kind) {
    case 'text':
    case 'boolean':
    case 'choices':
      return field.initial;
    case 'number':
      return field.initial === undefined ? '' : String(field.initial);
    case 'choice':
      return field.initial ?? '';
  }
}

/** Converts the entries to the answer. If the entry in a number field is not a number, the answer has its text. */
export function answerOf(fields: readonly FormField[], draft: Draft): JsonObject {
  const entries = fields.flatMap((field, at): [string, JsonValue][] => {
    const value = draft[at];
    if (value === undefined || value === '') return [];
    // An optional list without a choice is not an answer.
    if (Array.isArray(value) && value.length === 0 && !field.isRequired) return [];
    const isNumber = field.kind === 'number' && typeof value === 'string';
    return [[field.name, isNumber ? numberIn(value) : (value as JsonValue)]];
  });
  return Object.fromEntries(entries);
}

function numberIn(text: string): JsonValue {
  const number = Number(text.trim());
  return text.trim() !== '' && Number.isFinite(number) ? number : text;
}
