import type { JsonObject, JsonValue } from '@millrace/core';

/** The fields of a request that contain the conversation. It is on the log, so nothing is hidden there. */
const conversation: ReadonlySet<string> = new Set([
  ...['messages', 'input', 'contents', 'items'],
  ...['system', 'instructions', 'systemInstruction', 'system_instruction'],
]);
/** Matches the names of fields whose text is a credential, such as `authorization_token` and `apiKey`. */
const credentialName =
  /(?:authorization|(?:api|access|private)[-_]?key|token|secret|password|credentials?|cookie)$/i;
const headersName = /headers$/i;
const urlName = /(?:url|uri)$/i;
const hidden = '[hidden]';

/**
 * Replaces the credentials in the settings of a request, for example those of a hosted MCP server. Other
 * people can see descriptions of requests, and the log does not contain these settings.
 */
export function hideCredentials(body: JsonObject): JsonObject {
  const entries = Object.entries(body).map(([name, value]) => [
    name,
    conversation.has(name) ? value : hideIn(value, name, false),
  ]);
  return Object.fromEntries(entries);
}

function hideIn(value: JsonValue, name: string, isHeader: boolean): JsonValue {
  if (typeof value === 'string') {
    if (isHeader || credentialName.test(name)) return hidden;
    return urlName.test(name) ? hideInUrl(value) : value;
  }
  if (Array.isArray(value)) return value.map((one) => hideIn(one, name, isHeader));
  if (typeof value !== 'object' || value === null) return value;
  const areHeaders = isHeader || headersName.test(name);
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    hideIn(inner, key, areHeaders),
  ]);
  return Object.fromEntries(entries);
}

/** Removes the user, the password, the query and the fragment of a URL. */
function hideInUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  const hasMore = [url.username, url.password, url.search, url.hash].some((part) => part !== '');
  return hasMore ? `${url.protocol}//${url.host}${url.pathname}?${hidden}` : text;
}
