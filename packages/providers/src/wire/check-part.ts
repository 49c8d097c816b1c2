import type { PartKind, Source } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { checkJson } from './check-json.ts';
import { checkArray, checkObject, checkText, checkWord, type Fields } from './check-shape.ts';

type Check = (part: Fields, path: string) => void;

const texts =
  (...names: readonly string[]): Check =>
  (part, path) => {
    for (const name of names) checkText(part[name], `${path}.${name}`);
  };

const checks: { readonly [Kind in PartKind]: Check } = {
  text: texts('text'),
  reasoning: texts('text'),
  tool_call: texts('toolCallId', 'name', 'arguments'),
  tool_result: checkResult,
  structured: (part, path) => checkValue(part, path),
  media: checkMedia,
  file: checkFile,
  custom: (part, path) => {
    checkText(part['name'], `${path}.name`);
    checkValue(part, path);
  },
};

const kinds = Object.keys(checks) as readonly PartKind[];

/** Throws for a part that no wire could read, and would leave out or stumble over. */
export function checkPart(given: unknown, path: string): void {
  const part = checkObject(given, path);
  checks[checkWord(part['kind'], `${path}.kind`, kinds)](part, path);
  if (part['providerState'] === undefined) return;
  checkJson(checkObject(part['providerState'], `${path}.providerState`), `${path}.providerState`);
}

function checkValue(part: Fields, path: string): void {
  if (part['value'] === undefined) throw fault('invalid_request', `${path}.value is undefined`);
  checkJson(part['value'], `${path}.value`);
}

function checkResult(part: Fields, path: string): void {
  for (const name of ['toolCallId', 'text']) checkText(part[name], `${path}.${name}`);
  if (part['attachments'] === undefined) return;
  for (const [index, given] of checkArray(part['attachments'], `${path}.attachments`).entries()) {
    const attachmentPath = `${path}.attachments[${index}]`;
    const attachment = checkObject(given, attachmentPath);
    const kind = checkWord(attachment['kind'], `${attachmentPath}.kind`, ['media', 'file']);
    checks[kind](attachment, attachmentPath);
  }
}

function checkFile(part: Fields, path: string): void {
  checkText(part['name'], `${path}.name`);
  checkMedia(part, path);
}

const sourceTypes: readonly Source['type'][] = ['bytes', 'blob', 'url'];

function checkMedia(part: Fields, path: string): void {
  checkText(part['mimeType'], `${path}.mimeType`);
  const source = checkObject(part['source'], `${path}.source`);
  switch (checkWord(source['type'], `${path}.source.type`, sourceTypes)) {
    case 'bytes':
      if (ArrayBuffer.isView(source['bytes'])) return;
      throw fault('invalid_request', `${path}.source.bytes is no Uint8Array`);
    case 'blob':
      return checkText(source['hash'], `${path}.source.hash`);
    case 'url':
      return checkText(source['url'], `${path}.source.url`);
  }
}
