import { isJsonObject, type JsonObject, type JsonValue } from '../json/json-value.ts';
import type { FormField, TextFormat } from './form.ts';

/** The checked answer of a form, or the problem of each wrong field by its name. */
export type FormCheck =
  | { readonly ok: true; readonly content: JsonObject }
  | { readonly ok: false; readonly problems: ReadonlyMap<string, string> };

/**
 * Checks the answer of a form. Fields that the form does not have are left out, and so are optional fields
 * without a value. The problems are texts for the user.
 */
export function checkForm(fields: readonly FormField[], answer: JsonValue | undefined): FormCheck {
  const given = new Map(Object.entries(isJsonObject(answer) ? answer : {}));
  const problems = new Map<string, string>();
  const content: [string, JsonValue][] = [];
  for (const field of fields) {
    const value = given.get(field.name);
    const isMissing = value === undefined || value === null || value === '';
    if (isMissing && !field.isRequired) continue;
    const problem = isMissing ? 'This field is required.' : problemOf(field, value);
    if (problem !== undefined) problems.set(field.name, problem);
    else if (value !== undefined) content.push([field.name, value]);
  }
  if (problems.size > 0) return { ok: false, problems };
  return { ok: true, content: Object.fromEntries(content) };
}

function problemOf(field: FormField, value: JsonValue): string | undefined {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' ? textProblem(field, value) : 'Enter a text.';
    case 'number':
      return typeof value === 'number' && Number.isFinite(value)
        ? numberProblem(field, value)
        : 'Enter a number.';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'Choose yes or no.';
    case 'choice':
      return field.options.some((option) => option.value === value)
        ? undefined
        : 'Choose one of the options.';
    case 'choices':
      return Array.isArray(value)
        ? choicesProblem(field, value as readonly JsonValue[])
        : 'Choose from the options.';
  }
}

type FieldOf<Kind> = Extract<FormField, { readonly kind: Kind }>;

function textProblem(field: FieldOf<'text'>, value: string): string | undefined {
  const { minLength, maxLength, format } = field;
  if (value.length < minLength) return `Enter at least ${minLength} characters.`;
  if (value.length > maxLength) return `Enter at most ${maxLength} characters.`;
  return format === undefined || hasFormat(format, value) ? undefined : formatTexts[format];
}

const formatTexts: Readonly<Record<TextFormat, string>> = {
  email: 'Enter an email address, for example ada@example.com.',
  uri: 'Enter an address, for example https://example.com.',
  date: 'Enter a date, for example 2026-01-31.',
  'date-time': 'Enter a date and a time, for example 2026-01-31T09:30:00Z.',
};

/** Checks a format. No pattern comes from the schema, because a pattern can take very long. */
function hasFormat(format: TextFormat, value: string): boolean {
  switch (format) {
    case 'email':
      return /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(value);
    case 'uri':
      return /^[a-z][a-z0-9+.-]{0,31}:\S+$/i.test(value);
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value));
    case 'date-time':
      return /^\d{4}-\d{2}-\d{2}T/.test(value) && !Number.isNaN(Date.parse(value));
  }
}

function numberProblem(field: FieldOf<'number'>, value: number): string | undefined {
  const { isInteger, minimum, maximum } = field;
  if (isInteger && !Number.isInteger(value)) return 'Enter a whole number.';
  if (minimum !== undefined && value < minimum) return `Enter ${minimum} or more.`;
  return maximum !== undefined && value > maximum ? `Enter ${maximum} or less.` : undefined;
}

function choicesProblem(
  { options, minItems, maxItems }: FieldOf<'choices'>,
  chosen: readonly JsonValue[],
): string | undefined {
  const known = new Set<JsonValue>(options.map(({ value }) => value));
  const isKnown = chosen.every((value) => known.has(value));
  if (!isKnown || new Set(chosen).size < chosen.length) return 'Choose from the options.';
  if (chosen.length < minItems) return `Choose at least ${minItems}.`;
  return chosen.length > maxItems ? `Choose at most ${maxItems}.` : undefined;
}
