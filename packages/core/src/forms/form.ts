import { isJsonObject, type JsonObject, type JsonValue } from '../json/json-value.ts';

/**
 * A question that a user answers with a form. The schema is the subset of JSON Schema that MCP elicitation
 * allows: an object whose properties are texts, numbers, booleans and choices.
 */
export interface FormQuestion {
  /** The question. */
  readonly message: string;
  readonly schema: JsonObject;
  /**
   * A name of the question for programs: at most 64 letters, digits, `_`, `.` and `-`. All questions of one call
   * have different names. Default: programs get only the id of the question.
   */
  readonly key?: string;
  /**
   * A request that a program can answer without its user. `modelQuestion` and `foldersQuestion` create such
   * questions. Default: only a person answers.
   */
  readonly request?: ProgramRequest;
}

/**
 * What a program can answer: `model` asks a model of the program, and `folders` asks for the folders in which the
 * program works. Programs that cannot answer show the form to their user.
 */
export interface ProgramRequest {
  readonly type: 'model' | 'folders';
  /** Maximum length of the answer of a model, in tokens. Default: 1000. */
  readonly maxTokens?: number;
  /** Instructions for a model. Default: none. */
  readonly system?: string;
}

/** One option of a choice. */
export interface FormOption {
  readonly value: string;
  readonly label: string;
  readonly description: string | undefined;
}

/** The parts that all fields of a form have. */
interface FieldHead {
  /** The name of the property in the answer. */
  readonly name: string;
  readonly title: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

/** The formats of texts that a form checks. Other formats are ignored. */
export type TextFormat = 'email' | 'uri' | 'date' | 'date-time';

/** A field of a form. */
export type FormField = FieldHead &
  (
    | {
        readonly kind: 'text';
        readonly format: TextFormat | undefined;
        readonly minLength: number;
        readonly maxLength: number;
        readonly initial: string;
      }
    | {
        readonly kind: 'number';
        readonly isInteger: boolean;
        readonly minimum: number | undefined;
        readonly maximum: number | undefined;
        readonly initial: number | undefined;
      }
    | { readonly kind: 'boolean'; readonly initial: boolean }
    | {
        readonly kind: 'choice';
        readonly options: readonly FormOption[];
        readonly initial: string | undefined;
      }
    | {
        readonly kind: 'choices';
        readonly options: readonly FormOption[];
        readonly minItems: number;
        readonly maxItems: number;
        readonly initial: readonly string[];
      }
  );

/** The fields of a form, or the reason why the schema cannot be a form. */
export type FormResult =
  | { readonly ok: true; readonly fields: readonly FormField[] }
  | { readonly ok: false; readonly problem: string };

/** The reason of a denial that dismisses a form. The user has neither answered nor declined. */
export const formDismissed = 'dismissed';

/** The reason of a denial if the tool withdrew the form, so that nobody needs to answer it. */
export const formWithdrawn = 'withdrawn';

/** The limits of forms. Forms come from models and from other servers, and each field is an element. */
export const formLimits = {
  fields: 50,
  options: 200,
  nameLength: 200,
  titleLength: 200,
  descriptionLength: 2000,
  messageLength: 8000,
  textLength: 10_000,
} as const;

/** Reads a form. A question that exceeds a limit, or uses more than the subset, is refused. */
export function readForm({ message, schema, key }: FormQuestion): FormResult {
  try {
    if (key !== undefined && !/^[\w.-]{1,64}$/.test(key))
      throw new FormProblem('the key is empty, is too long, or has other characters than a name');
    if (typeof message !== 'string' || message.length > formLimits.messageLength)
      throw new FormProblem('the message is too long');
    return { ok: true, fields: fieldsOf(schema) };
  } catch (error) {
    if (error instanceof FormProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

/** The reason why a schema cannot be a form. */
class FormProblem extends Error {}

function fieldsOf(schema: JsonValue): readonly FormField[] {
  const { type, properties, required } = objectOf(schema, 'the schema');
  if (type !== 'object') throw new FormProblem('the schema is not of the type object');
  const entries = Object.entries(objectOf(properties, 'properties'));
  if (entries.length > formLimits.fields)
    throw new FormProblem(`it has more than ${formLimits.fields} fields`);
  const names = new Set<JsonValue>(Array.isArray(required) ? required : []);
  return entries.map(([name, property]) => fieldOf(name, property ?? null, names.has(name)));
}

function fieldOf(name: string, property: JsonValue, isRequired: boolean): FormField {
  if (name === '' || name.length > formLimits.nameLength)
    throw new FormProblem('the name of a field is empty or too long');
  const given = objectOf(property, `field ${name}`);
  const head: FieldHead = {
    ...{ name, isRequired },
    title: textOf(given['title'], formLimits.titleLength, name) ?? name,
    description: textOf(given['description'], formLimits.descriptionLength, name),
  };
  switch (given['type']) {
    case 'string':
      return given['enum'] === undefined && given['oneOf'] === undefined
        ? { ...head, ...textField(given) }
        : { ...head, ...choiceField(name, given) };
    case 'number':
    case 'integer':
      return {
        ...{ ...head, kind: 'number', isInteger: given['type'] === 'integer' },
        ...{ minimum: numberOf(given['minimum']), maximum: numberOf(given['maximum']) },
        initial: numberOf(given['default']),
      };
    case 'boolean':
      return { ...head, kind: 'boolean', initial: given['default'] === true };
    case 'array':
      return { ...head, ...choicesField(name, given) };
    default:
      throw new FormProblem(`field ${name} has a type that a form cannot have`);
  }
}

const formats: ReadonlySet<unknown> = new Set<TextFormat>(['email', 'uri', 'date', 'date-time']);

function textField(given: JsonObject) {
  const { format, default: initial } = given;
  const maxLength = Math.min(numberOf(given['maxLength']) ?? Infinity, formLimits.textLength);
  return {
    kind: 'text',
    format: formats.has(format) ? (format as TextFormat) : undefined,
    minLength: numberOf(given['minLength']) ?? 0,
    maxLength,
    initial: typeof initial === 'string' ? initial.slice(0, maxLength) : '',
  } as const;
}

function choiceField(name: string, given: JsonObject) {
  const options = optionsOf(name, given);
  const { default: initial } = given;
  const isKnown = options.some(({ value }) => value === initial);
  return { kind: 'choice', options, initial: isKnown ? (initial as string) : undefined } as const;
}

function choicesField(name: string, given: JsonObject) {
  const options = optionsOf(name, objectOf(given['items'], `items of field ${name}`));
  const chosen = Array.isArray(given['default']) ? (given['default'] as JsonValue[]) : [];
  return {
    ...({ kind: 'choices', options } as const),
    minItems: numberOf(given['minItems']) ?? 0,
    maxItems: Math.min(numberOf(given['maxItems']) ?? Infinity, options.length),
    initial: options.map(({ value }) => value).filter((value) => chosen.includes(value)),
  };
}

/** Reads `enum` with optional `enumNames`, or a list of constants with titles. */
function optionsOf(name: string, given: JsonObject): readonly FormOption[] {
  const { enumNames } = given;
  const values = given['enum'] ?? given['oneOf'] ?? given['anyOf'];
  if (!Array.isArray(values) || values.length === 0)
    throw new FormProblem(`field ${name} has no options`);
  if (values.length > formLimits.options)
    throw new FormProblem(`field ${name} has more than ${formLimits.options} options`);
  const options = (values as JsonValue[]).map((entry, at): FormOption => {
    const titles = Array.isArray(enumNames) ? (enumNames as JsonValue[]) : [];
    if (typeof entry === 'string') return option(name, entry, titles[at], undefined);
    const { const: value, title, description } = objectOf(entry, `an option of field ${name}`);
    return option(name, value, title, description);
  });
  if (new Set(options.map(({ value }) => value)).size < options.length)
    throw new FormProblem(`field ${name} has the same option twice`);
  return options;
}

function option(
  name: string,
  value: JsonValue | undefined,
  title: JsonValue | undefined,
  description: JsonValue | undefined,
): FormOption {
  if (typeof value !== 'string' || value.length > formLimits.titleLength)
    throw new FormProblem(`an option of field ${name} is not a short text`);
  const label = textOf(title, formLimits.titleLength, name) ?? value;
  const about = textOf(description, formLimits.descriptionLength, name);
  return { value, label: label === '' ? value : label, description: about };
}

function objectOf(value: JsonValue | undefined, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new FormProblem(`${what} is not an object`);
}

function textOf(value: JsonValue | undefined, max: number, name: string): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (value.length > max) throw new FormProblem(`a text of field ${name} is too long`);
  return value;
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
