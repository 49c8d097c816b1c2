import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import { route } from '../../http/route.ts';
import { deletedSchema } from '../deleted-reply.ts';

export const revokeToken = route({
  method: 'DELETE',
  path: '/tokens/{token_id}',
  summary: 'Revokes a token',
  access: 'all',
  params: z.object({ token_id: z.string().regex(/^[0-9a-f]{64}$/) }),
  reply: deletedSchema,
  async handle({ params: { token_id: id } }, { tokens }) {
    if (await tokens.revoke(id)) return { id, message: 'The token is revoked' };
    throw new ServerError('not_found', `Cannot revoke token ${id}: there is none such`);
  },
});
