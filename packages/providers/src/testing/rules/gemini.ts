import type { JsonObject } from '@millrace/core';
import type { Signed } from '../oracle/expected.ts';
import { fieldsOf, textOf } from '../oracle/json-access.ts';
import { documentFaults, isFilled, objectsOf, repeated, requestOf, when } from './document.ts';
import { geminiContentFaults } from './gemini-contents.ts';

export interface GeminiRules {
  /** Gemini 3: the first call of each answer has its signature, or the token that stands for one. */
  readonly needsSignatures?: boolean;
  /** Vertex refuses ids of calls. */
  readonly isVertex?: boolean;
  /** All signatures that the provider has ever sent, each with what it sat on. */
  readonly signed?: readonly Signed[];
}

/** Each way in which a request body breaks the rules of Gemini; none if it is right. */
export function geminiFaults(body: unknown, rules: GeminiRules = {}): readonly string[] {
  const request = requestOf(body);
  return [
    ...documentFaults(body),
    ...systemFaults(request),
    ...toolFaults(request),
    ...configFaults(request),
    ...geminiContentFaults(objectsOf(request['contents']), rules),
  ];
}

function systemFaults(request: JsonObject): readonly string[] {
  const { systemInstruction } = request;
  if (systemInstruction === undefined) return [];
  const parts = objectsOf(fieldsOf(systemInstruction)['parts']);
  const isText = parts.length > 0 && parts.every(({ text }) => isFilled(text));
  return when(!isText, 'systemInstruction: not texts');
}

const modes = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED']);

function toolFaults(request: JsonObject): readonly string[] {
  const declared = objectsOf(request['tools']).flatMap(({ functionDeclarations }) =>
    objectsOf(functionDeclarations),
  );
  const names = declared.map(({ name }) => textOf(name));
  const mode = fieldsOf(fieldsOf(request['toolConfig'])['functionCallingConfig'])['mode'];
  return [
    ...declared.flatMap(({ name, parameters, parametersJsonSchema }, index) => [
      ...when(!isFilled(name), `tools: function ${index} has no name`),
      ...when(
        parameters !== undefined && parametersJsonSchema !== undefined,
        `tools: function ${index} has two schemas`,
      ),
    ]),
    ...repeated(names).map((name) => `tools: ${name} twice`),
    ...when(mode !== undefined && !modes.has(textOf(mode)), `toolConfig: mode ${textOf(mode)}`),
  ];
}

function configFaults(request: JsonObject): readonly string[] {
  const config = fieldsOf(request['generationConfig']);
  const { thinkingBudget, thinkingLevel } = fieldsOf(config['thinkingConfig']);
  const hasSchema = config['responseSchema'] ?? config['responseJsonSchema'];
  const mimeType = textOf(config['responseMimeType']);
  return [
    ...when(
      thinkingBudget !== undefined && thinkingLevel !== undefined,
      'thinkingConfig: a budget and a level',
    ),
    ...when(
      hasSchema !== undefined && mimeType !== 'application/json',
      'generationConfig: a schema without responseMimeType',
    ),
  ];
}
