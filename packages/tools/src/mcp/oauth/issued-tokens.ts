import { z } from 'zod';
import type { McpLogin } from '../../contract/mcp-oauth.ts';

/** The tokens that an authorization server issued. */
export type IssuedTokens = Pick<McpLogin, 'accessToken' | 'refreshToken' | 'scope'>;

// A token is sent in a header, so it must not contain spaces or line breaks.
const token = z.string().regex(/^[\x21-\x7e]+$/);
const schema = z.object({
  access_token: token,
  token_type: z.string(),
  refresh_token: token.optional(),
  scope: z.string().optional(),
});

/** Checks the answer of a token endpoint. `before` has the scope and the refresh token that stay valid. */
export function issuedTokens(body: unknown, before: Partial<McpLogin>): IssuedTokens {
  const { success, data } = schema.safeParse(body);
  // The message has no values, because they can be tokens.
  if (!success) throw new Error('the answer of its token endpoint is not valid');
  if (data.token_type.toLowerCase() !== 'bearer')
    throw new Error('its authorization server issues tokens of an unknown type');
  return {
    accessToken: data.access_token,
    refreshToken: data.refresh_token ?? before.refreshToken,
    scope: data.scope ?? before.scope,
  };
}
