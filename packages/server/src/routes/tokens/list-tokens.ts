import { z } from 'zod';
import { route } from '../../http/route.ts';
import { tokenOf, tokenSchema } from './token-shape.ts';

export const listTokens = route({
  method: 'GET',
  path: '/tokens',
  summary: 'The tokens that were given and not revoked, without what they are',
  access: 'all',
  reply: z.array(tokenSchema),
  async handle(_input, { tokens }) {
    return (await tokens.list()).map(tokenOf);
  },
});
