import { z } from 'zod';
import { attemptStatisticsSchema, contentSearchSchema } from '../contract/inspection.ts';
import { ServerError } from '../contract/server-error.ts';
import { type Route, route } from '../http/route.ts';
import { attemptStatistics } from '../inspection/attempt-statistics.ts';
import { searchContent } from '../inspection/content-search.ts';

const dayMs = 24 * 3600 * 1000;
const maxRangeMs = 366 * dayMs;

/** Routes with numbers about many tasks, and the search in their messages. */
export const statisticsRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/search',
    summary:
      'Find a text in the messages of tasks. A request reads a limited number of tasks, and `next` continues',
    query: z.object({
      text: z
        .string()
        .max(256)
        .refine((text) => text.trim().length >= 2, 'it has less than 2 characters')
        .meta({ description: 'The text to find. Case and the kind of white space are ignored' }),
      cursor: z.string().max(4096).optional().meta({
        description: 'The value of `next` of the previous result. Default: starts with the newest',
      }),
    }),
    reply: contentSearchSchema,
    handle: ({ query }, { service, log }) => searchContent(query, { tasks: service.tasks, log }),
  }),
  route({
    method: 'GET',
    path: '/statistics/attempts',
    summary: 'Get latency, tokens, cost and errors of model requests in a range of time',
    query: z.object({
      from: z.int().min(0).optional().meta({
        description: 'Start of the range, in milliseconds since 1970. Default: one day before `to`',
      }),
      to: z.int().min(0).optional().meta({
        description: 'End of the range, in milliseconds since 1970. Default: now',
      }),
      agent_name: z.string().max(1024).optional().meta({
        description: 'Only attempts of this agent or sub-agent. Default: all agents',
      }),
      model: z.string().max(1024).optional().meta({
        description: 'Only attempts with this model. Default: all models',
      }),
      agent_version: z.string().max(256).optional().meta({
        description: 'Only attempts of this version of an agent. Default: all versions',
      }),
    }),
    reply: attemptStatisticsSchema,
    async handle({ query }, { service, log, clock }) {
      const to = query.to ?? Math.ceil(clock.now());
      const from = query.from ?? to - dayMs;
      if (from >= to || to - from > maxRangeMs) {
        const message =
          'Cannot compute statistics of this range: `from` must be before `to`, by at most 366 days';
        throw new ServerError('invalid', message);
      }
      const { agent_name: agentName, agent_version: version, model } = query;
      const filter = { from, to, agentName, version, model };
      return attemptStatistics(filter, { tasks: service.tasks, log, clock });
    },
  }),
];
