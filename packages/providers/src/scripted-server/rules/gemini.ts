import type { JsonObject } from '@millrace/core';
import {
  documentFaults,
  faultIf,
  fieldsOf,
  isList,
  isNonEmptyText,
  isObject,
  objectsOf,
  repeated,
  requestOf,
  type SignedContent,
  textOf,
} from './document.ts';

export interface GeminiRules {
  /** The model, which is part of the request path. Default: rules of individual models do not apply. */
  readonly model?: string;
  /**
   * True if the first call of each answer must have its signature or the skip token. Default: true for models
   * of generation 3 and later.
   */
  readonly needsSignatures?: boolean;
  /** True if the API is Vertex AI, which rejects call ids. */
  readonly isVertex?: boolean;
  /** All signatures that the provider sent, each with the content that it signs. */
  readonly signed?: readonly SignedContent[];
}

/**
 * Returns the places where a request body violates the rules of the Gemini API. The list is empty for a valid
 * body.
 */
export function geminiFaults(body: unknown, given: GeminiRules = {}): readonly string[] {
  const request = requestOf(body);
  const generation = generationOf(given.model ?? '');
  const rules = { needsSignatures: generation >= 3, ...given };
  return [
    ...documentFaults(body),
    ...systemFaults(request),
    ...toolFaults(request),
    ...configFaults(request, generation),
    ...geminiContentFaults(objectsOf(request['contents']), rules),
  ];
}

/** Returns the generation of a Gemini model, or 0 for other models. */
function generationOf(model: string): number {
  return Number(/^gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1] ?? 0);
}

function systemFaults(request: JsonObject): readonly string[] {
  const { systemInstruction } = request;
  if (systemInstruction === undefined) return [];
  const parts = objectsOf(fieldsOf(systemInstruction)['parts']);
  const isText = parts.length > 0 && parts.every(({ text }) => isNonEmptyText(text));
  return faultIf(!isText, 'systemInstruction: not texts');
}

const modes = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED']);

function toolFaults(request: JsonObject): readonly string[] {
  const declared = objectsOf(request['tools']).flatMap(({ functionDeclarations }) =>
    objectsOf(functionDeclarations),
  );
  const names = declared.map(({ name }) => textOf(name));
  const calling = fieldsOf(fieldsOf(request['toolConfig'])['functionCallingConfig']);
  const { mode, allowedFunctionNames } = calling;
  const allowed = isList(allowedFunctionNames) ? allowedFunctionNames.map(textOf) : [];
  return [
    ...declared.flatMap(({ name, parameters, parametersJsonSchema }, index) => [
      ...nameFaults(textOf(name), `tools: the name of function ${index}`),
      ...faultIf(
        parameters !== undefined && parametersJsonSchema !== undefined,
        `tools: function ${index} has two schemas`,
      ),
    ]),
    ...repeated(names).map((name) => `tools: ${name} twice`),
    ...faultIf(mode !== undefined && !modes.has(textOf(mode)), `toolConfig: mode ${textOf(mode)}`),
    ...faultIf(
      allowed.length > 0 && mode !== 'ANY' && mode !== 'VALIDATED',
      'toolConfig: allowed functions without a mode that restricts them',
    ),
    ...allowed
      .filter((name) => !names.includes(name))
      .map((name) => `toolConfig: ${name} is not a tool`),
  ];
}

/** Checks the form of a function name. */
function nameFaults(name: string, at: string): readonly string[] {
  if (name === '') return [`${at}: missing`];
  const isValid = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/.test(name);
  return faultIf(!isValid, `${at}: ${name} is not a valid name`);
}

function configFaults(request: JsonObject, generation: number): readonly string[] {
  const config = fieldsOf(request['generationConfig']);
  const { thinkingBudget, thinkingLevel } = fieldsOf(config['thinkingConfig']);
  const hasSchema = config['responseSchema'] ?? config['responseJsonSchema'];
  const mimeType = textOf(config['responseMimeType']);
  const declares = objectsOf(request['tools']).some(
    ({ functionDeclarations }) => objectsOf(functionDeclarations).length > 0,
  );
  return [
    ...faultIf(
      thinkingBudget !== undefined && thinkingLevel !== undefined,
      'thinkingConfig: a budget and a level',
    ),
    ...faultIf(
      hasSchema !== undefined && mimeType !== 'application/json',
      'generationConfig: a schema without responseMimeType',
    ),
    ...faultIf(
      generation > 0 && generation < 3 && declares && mimeType === 'application/json',
      'generationConfig: function calling with the response type application/json is unsupported',
    ),
  ];
}

/** The fields that contain the content of a part. All other fields of a part describe the content. */
const holders = [
  'text',
  'functionCall',
  'functionResponse',
  'inlineData',
  'fileData',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
];

/** The signature for calls that a different model wrote. */
const skipToken = 'skip_thought_signature_validator';

interface Content {
  readonly role: string;
  readonly parts: readonly JsonObject[];
  readonly at: string;
}

function geminiContentFaults(given: readonly JsonObject[], rules: GeminiRules): readonly string[] {
  const contents = given.map(({ role, parts }, index) => ({
    role: textOf(role),
    parts: objectsOf(parts),
    at: `contents[${index}]`,
  }));
  return [
    ...faultIf(contents.length === 0, 'contents: none'),
    ...contents.flatMap((content, index) => [
      ...roleFaults(content, contents[index - 1]),
      ...faultIf(content.parts.length === 0, `${content.at}.parts: empty`),
      ...content.parts.flatMap((part, place) =>
        partFaults(part, content.role, `${content.at}.parts[${place}]`, rules),
      ),
      ...faultIf(
        rules.needsSignatures === true && isUnsigned(content),
        `${content.at}: the first call has no signature`,
      ),
      ...answerFaults(content, contents[index + 1], rules),
      ...orphanFaults(content, contents[index - 1]),
    ]),
  ];
}

function roleFaults({ role, at }: Content, before: Content | undefined): readonly string[] {
  if (role !== 'user' && role !== 'model') return [`${at}.role: ${role || 'missing'}`];
  if (before === undefined) return faultIf(role !== 'user', `${at}.role: must begin with a user`);
  return faultIf(role === before.role, `${at}.role: ${role} twice in a row`);
}

function partFaults(
  part: JsonObject,
  role: string,
  at: string,
  rules: GeminiRules,
): readonly string[] {
  const held = holders.filter((name) => part[name] !== undefined);
  const { text, thoughtSignature } = part;
  const isSigned = thoughtSignature !== undefined;
  return [
    ...faultIf(held.length !== 1, `${at}: holds ${held.join(' and ') || 'nothing'}`),
    ...faultIf(text === '' && !isSigned, `${at}.text: empty`),
    ...faultIf(isSigned && !isNonEmptyText(thoughtSignature), `${at}.thoughtSignature: empty`),
    ...faultIf(isSigned && role !== 'model', `${at}.thoughtSignature: not for ${role}s`),
    ...faultIf(
      isNonEmptyText(thoughtSignature) && isMoved(part, rules),
      `${at}: a moved or changed signature`,
    ),
    ...callFaults(part, role, at, rules),
    ...responseFaults(part, role, at, rules),
    ...mediaFaults(part, at),
  ];
}

function isMoved(
  { thoughtSignature, text, functionCall }: JsonObject,
  rules: GeminiRules,
): boolean {
  if (rules.signed === undefined || thoughtSignature === skipToken) return false;
  const on = textOf(fieldsOf(functionCall)['name']) || textOf(text);
  return !rules.signed.some((one) => one.signature === thoughtSignature && one.on === on);
}

function callFaults(
  { functionCall }: JsonObject,
  role: string,
  at: string,
  rules: GeminiRules,
): readonly string[] {
  if (functionCall === undefined) return [];
  const { name, args, id, partialArgs, willContinue } = fieldsOf(functionCall);
  return [
    ...faultIf(role !== 'model', `${at}.functionCall: not for ${role}s`),
    ...faultIf(!isNonEmptyText(name), `${at}.functionCall.name: missing`),
    ...faultIf(args !== undefined && !isObject(args), `${at}.functionCall.args: not an object`),
    ...faultIf(
      rules.isVertex === true && id !== undefined,
      `${at}.functionCall.id: refused by Vertex`,
    ),
    ...faultIf(
      partialArgs !== undefined || willContinue !== undefined,
      `${at}.functionCall: left over from a stream`,
    ),
  ];
}

function responseFaults(
  { functionResponse }: JsonObject,
  role: string,
  at: string,
  rules: GeminiRules,
): readonly string[] {
  if (functionResponse === undefined) return [];
  const { name, response, id } = fieldsOf(functionResponse);
  return [
    ...faultIf(role !== 'user', `${at}.functionResponse: not for ${role}s`),
    ...faultIf(!isNonEmptyText(name), `${at}.functionResponse.name: missing`),
    ...faultIf(!isObject(response), `${at}.functionResponse.response: not an object`),
    ...faultIf(
      rules.isVertex === true && id !== undefined,
      `${at}.functionResponse.id: refused by Vertex`,
    ),
  ];
}

function mediaFaults({ inlineData }: JsonObject, at: string): readonly string[] {
  if (inlineData === undefined) return [];
  const { mimeType, data } = fieldsOf(inlineData);
  const isBase64 =
    isNonEmptyText(data) && /^[A-Za-z0-9+/]+={0,2}$/.test(data) && data.length % 4 === 0;
  return [
    ...faultIf(!isNonEmptyText(mimeType), `${at}.inlineData.mimeType: missing`),
    ...faultIf(!isBase64, `${at}.inlineData.data: not base64`),
  ];
}

const callsOf = ({ parts }: Content) =>
  parts
    .filter((part) => part['functionCall'] !== undefined)
    .map((part) => fieldsOf(part['functionCall']));
const responsesOf = ({ parts }: Content) =>
  parts
    .filter((part) => part['functionResponse'] !== undefined)
    .map((part) => fieldsOf(part['functionResponse']));
const namesOf = (entries: readonly JsonObject[]) => entries.map(({ name }) => textOf(name));

function isUnsigned({ parts }: Content): boolean {
  const first = parts.find((part) => part['functionCall'] !== undefined);
  return first !== undefined && !isNonEmptyText(first['thoughtSignature']);
}

/** Checks that the next content has exactly one response of the same name for each call. */
function answerFaults(
  content: Content,
  next: Content | undefined,
  rules: GeminiRules,
): readonly string[] {
  const calls = content.role === 'model' ? callsOf(content) : [];
  if (calls.length === 0) return [];
  const responses = next === undefined ? [] : responsesOf(next);
  if (responses.length !== calls.length) {
    return [`${content.at}: ${calls.length} calls but ${responses.length} responses right after`];
  }
  const isSameName = namesOf(calls).sort().join() === namesOf(responses).sort().join();
  const isSameId = calls.every(
    ({ id }) => id === undefined || responses.some((response) => response['id'] === id),
  );
  return [
    ...faultIf(!isSameName, `${content.at}: responses to other names`),
    ...faultIf(isSameName && !isSameId && !rules.isVertex, `${content.at}: responses to other ids`),
  ];
}

function orphanFaults(content: Content, before: Content | undefined): readonly string[] {
  const calls = before?.role === 'model' ? callsOf(before) : [];
  const isOrphan = responsesOf(content).length > 0 && calls.length === 0;
  return faultIf(isOrphan, `${content.at}: responses without calls right before`);
}
