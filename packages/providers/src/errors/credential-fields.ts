import type { JsonObject } from '@millrace/core';

/** Matches the names of fields that contain credentials, for example of hosted MCP servers. */
const credentialName =
  /^(?:authorization|authorization_?token|auth_?token|access_?token|refresh_?token|bearer_?token|id_?token|token|api_?key|key|password|passwd|secret|credentials?|cookie)$|[_-](?:secret|password|api_?key|token)$|(?:ApiKey|Secret|Password|AccessToken|AuthToken)$/i;
/** Matches the names of fields whose values are all credentials. */
const credentialGroup = /^(?:headers|extra_?headers|http_?headers)$/i;
/** Fields of model requests whose names look like credentials. */
const ordinaryNames: ReadonlySet<string> = new Set(['prompt_cache_key']);
const hidden = '[hidden]';

/**
 * Returns a request body without credentials. It hides the values of fields such as `authorization`, all
 * values of `headers`, and the login and the query of addresses in such settings. People who may read a
 * session can see request bodies, and the settings of a model belong to the operator.
 *
 * It does not look into `items`, `messages`, `input`, `contents` and `system`, which are the session itself.
 *
 * @param hide - Removes known secrets from each text.
 */
export function withoutCredentials(
  body: JsonObject,
  hide: (text: string) => string = (text) => text,
): JsonObject {
  const visit = (value: unknown, isSetting: boolean): unknown => {
    if (typeof value === 'string') return isSetting ? cleanAddress(hide(value)) : hide(value);
    if (Array.isArray(value)) return value.map((one) => visit(one, isSetting));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]: [string, unknown]) => {
        if (isSetting && credentialGroup.test(name)) return [name, hideAll(one)];
        const isSecret = isSetting && credentialName.test(name) && !ordinaryNames.has(name);
        if (isSecret && typeof one === 'string') return [name, hidden];
        // The schema of a tool names the fields of its input, for example `token`.
        return [name, visit(one, isSetting && !schemaNames.has(name))];
      }),
    );
  };
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const cleaned = visit({ [name]: value }, !contentNames.has(name)) as JsonObject;
      return [name, cleaned[name]];
    }),
  ) as JsonObject;
}

const contentNames: ReadonlySet<string> = new Set([
  ...['items', 'messages', 'input', 'contents', 'system', 'instructions', 'systemInstruction'],
]);
const schemaNames: ReadonlySet<string> = new Set([
  ...['parameters', 'input_schema', 'inputSchema', 'parametersJsonSchema', 'schema', 'json_schema'],
]);

function hideAll(value: unknown): unknown {
  if (typeof value === 'string') return hidden;
  if (Array.isArray(value)) return value.map(hideAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hideAll(one)]));
}

/** Removes the login, the query and the fragment of an address. */
function cleanAddress(text: string): string {
  if (!/^(?:https?|wss?):\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username === '' && url.password === '' && url.search === '' && url.hash === '')
    return text;
  return `${url.origin}${url.pathname}${url.search === '' ? '' : `?${hidden}`}`;
}
