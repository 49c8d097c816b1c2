import { z } from 'zod';
import { type Route, route } from '../../http/route.ts';
import { id } from '../route-schemas.ts';
import {
  caseComparisonSchema,
  caseQuery,
  experimentListSchema,
  experimentSchema,
} from './experiment-schemas.ts';
import { compareCases, experimentInfo, listExperiments } from './read-experiments.ts';

const params = z.object({
  experiment_name: id.meta({ description: 'The name of the experiment' }),
});

/**
 * Routes to the experiments on the log. An experiment is visible to a caller that may read its session
 * `eval/<name>`: callers with full access, and tokens for this session.
 */
export const experimentRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/experiments',
    summary: 'List the experiments on the log with their results, in the order of their names',
    query: z.object({
      limit: z.int().min(1).max(100).default(25),
      cursor: z.string().max(64).optional().meta({
        description: 'The value of `next` of the previous page. Default: the first page',
      }),
    }),
    reply: experimentListSchema,
    handle({ query }, { service, log, clock, grant: { scope } }) {
      const onlySession = scope.kind === 'task' ? scope.taskId : undefined;
      return listExperiments(query, { tasks: service.tasks, log, clock, onlySession });
    },
  }),
  route({
    method: 'GET',
    path: '/experiments/{experiment_name}',
    summary: 'Get the results of an experiment by variant',
    params,
    reply: experimentSchema,
    handle: ({ params: asked }, { service, log, clock }) =>
      experimentInfo(asked.experiment_name, { tasks: service.tasks, log, clock }),
  }),
  route({
    method: 'GET',
    path: '/experiments/{experiment_name}/cases',
    summary: 'Compare two variants of experiments case by case, the worst changes first',
    params,
    query: caseQuery,
    reply: caseComparisonSchema,
    handle: ({ params: asked, query }, { service, log, clock }) =>
      compareCases(asked.experiment_name, query, { tasks: service.tasks, log, clock }),
  }),
];
