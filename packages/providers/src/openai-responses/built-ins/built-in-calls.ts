import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import type { BuiltInTool } from '../../contract/built-in-tool.ts';
import { arrayIn, countIn, objectIn, objectsIn, textIn } from '../../json/fields.ts';

/** Describes the calls of a built-in tool. */
export interface BuiltInCall {
  readonly id: BuiltInTool;
  /** The type of the tool. If no tool answers the call, it is also the name of the call. */
  readonly tool: string;
  /** The field of the item that contains the call's id. The output must repeat this id. */
  readonly idField: 'call_id' | 'id';
  /** True if the API rejects an item without its own id. */
  readonly needsOwnId: boolean;
  /**
   * Fields that the API requires in requests, although it may send them as null or omit them in responses.
   */
  readonly requiredFields?: JsonObject;
  /** Returns whether the client runs the call. Otherwise the provider runs it. */
  isClientRun(item: JsonObject): boolean;
  /** Returns the input for the tool that answers the call. */
  inputOf(item: JsonObject): JsonObject;
}

const always = () => true;

/** The built-in tools by the type of their call items. */
const builtInCalls: Readonly<Record<string, BuiltInCall>> = {
  shell_call: {
    id: 'openai.shell',
    tool: 'shell',
    idField: 'call_id',
    needsOwnId: false,
    isClientRun: (item) => !isInContainer(objectIn(item, 'environment')),
    inputOf: (item) => shellInput(objectIn(item, 'action')),
  },
  local_shell_call: {
    id: 'openai.local_shell',
    tool: 'local_shell',
    idField: 'call_id',
    needsOwnId: true,
    isClientRun: always,
    inputOf: (item) => localShellInput(objectIn(item, 'action')),
  },
  apply_patch_call: {
    id: 'openai.apply_patch',
    tool: 'apply_patch',
    idField: 'call_id',
    needsOwnId: false,
    isClientRun: always,
    inputOf: (item) => objectIn(item, 'operation') ?? {},
  },
  computer_call: {
    id: 'openai.computer',
    tool: 'computer',
    idField: 'call_id',
    needsOwnId: true,
    requiredFields: { pending_safety_checks: [] },
    isClientRun: always,
    inputOf: computerInput,
  },
  tool_search_call: {
    id: 'openai.tool_search',
    tool: 'tool_search',
    idField: 'call_id',
    needsOwnId: false,
    requiredFields: { arguments: {} },
    isClientRun: (item) => item['execution'] === 'client',
    inputOf: ({ arguments: given }) => objectOf(given),
  },
  mcp_approval_request: {
    id: 'openai.mcp_approval',
    tool: 'mcp_approval',
    idField: 'id',
    needsOwnId: true,
    isClientRun: always,
    inputOf: ({ server_label = '', name = '', arguments: given }) => ({
      server_label,
      name,
      arguments: objectOf(given),
      ...textIfInexact(given),
    }),
  },
};

/** Returns the built-in tool whose calls have this item type, or undefined. */
export function builtInCall(type: string | undefined): BuiltInCall | undefined {
  return type !== undefined && Object.hasOwn(builtInCalls, type) ? builtInCalls[type] : undefined;
}

/** Returns the `type` with which a request declares a built-in tool. */
export function builtInToolType(id: BuiltInTool): string {
  return id.slice(id.indexOf('.') + 1);
}

/** Returns whether a shell runs on the provider's machines. */
export function isInContainer(environment: JsonObject | undefined): boolean {
  return textIn(environment, 'type')?.startsWith('container') === true;
}

/** Returns arguments as an object. They arrive as an object or as JSON text. */
function objectOf(given: JsonValue | undefined): JsonObject {
  const parsed = typeof given === 'string' ? parseJson(given) : undefined;
  const value = parsed?.ok ? parsed.value : given;
  return isJsonObject(value) ? value : {};
}

/**
 * Returns the original text of the arguments, if the parsed object does not represent it exactly. The
 * provider makes the call with the original text, so the user must see it.
 */
function textIfInexact(given: JsonValue | undefined): JsonObject {
  if (given === undefined || given === null || given === '' || isJsonObject(given)) return {};
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return isExact(text) ? {} : { arguments_text: text };
}

/** Returns whether the text is a JSON object in which no key is repeated and no number is rounded. */
function isExact(text: string): boolean {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return false;
  let keys = 0;
  for (const [token, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g)) {
    if (colon !== undefined) keys++;
    const isInteger = /^-?\d+$/.test(token);
    if (isInteger && BigInt(token) !== BigInt(Number(token))) return false;
  }
  return keys === countKeys(parsed.value);
}

function countKeys(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, one) => sum + countKeys(one), own);
}

function computerInput(item: JsonObject): JsonObject {
  const single = objectIn(item, 'action');
  const listed = objectsIn(item, 'actions');
  const checks = objectsIn(item, 'pending_safety_checks');
  return {
    actions: listed.length === 0 && single !== undefined ? [single] : listed,
    ...(checks.length === 0 ? {} : { pending_safety_checks: checks }),
  };
}

/**
 * Converts a shell action to the input of the tool. The commands run one after the other in the same shell.
 */
function shellInput(action: JsonObject | undefined): JsonObject {
  return { command: textsIn(action, 'commands').join('\n'), ...timeLimit(action) };
}

/**
 * Converts a program and its arguments to one command line. The command line includes the folder and the
 * environment.
 */
function localShellInput(action: JsonObject | undefined): JsonObject {
  const folder = textIn(action, 'working_directory');
  const variables = Object.entries(objectIn(action, 'env') ?? {});
  const lines = [
    ...(folder === undefined ? [] : [`cd ${quoted(folder)} || exit 1`]),
    ...variables.flatMap(([name, value]) =>
      /^[A-Za-z_]\w*$/.test(name) ? [`export ${name}=${quoted(String(value))}`] : [],
    ),
    commandLine(textsIn(action, 'command')),
  ];
  return { command: lines.join('\n'), ...timeLimit(action) };
}

/**
 * Returns words as one command line. If the words run a script in a shell (`bash -c`), the script itself is
 * the command.
 */
function commandLine(words: readonly string[]): string {
  const [program = '', option = '', script] = words;
  const isScript = /^(?:\/bin\/)?(?:ba)?sh$/.test(program) && /^-l?c$/.test(option);
  return isScript && script !== undefined && words.length === 3
    ? script
    : words.map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function textsIn(action: JsonObject | undefined, key: string): readonly string[] {
  return arrayIn(action, key).filter((text) => typeof text === 'string');
}

function timeLimit(action: JsonObject | undefined): JsonObject {
  const timeoutMs = countIn(action, 'timeout_ms');
  return timeoutMs === undefined || timeoutMs === 0 ? {} : { timeout_ms: timeoutMs };
}
