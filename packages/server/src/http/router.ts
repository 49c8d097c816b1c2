import { parse } from 'node:querystring';
import { ServerError } from '../contract/server-error.ts';
import type { Route } from './route.ts';

/** A route and the parameter values from the path of the request. */
export interface FoundRoute {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** A node in the tree of paths. Paths with the same first segments share their nodes. */
interface PathNode {
  readonly steps: Map<string, PathNode>;
  /**
   * The child for a parameter such as `{task_id}`. Undefined if no route has a parameter at this position.
   */
  param?: PathNode;
  /** The routes whose path ends at this node, by method. */
  readonly routes: Map<string, Route>;
  /** The routes that have a `*` or a parameter such as `{path*}` after this node, by method. */
  readonly wildcards: Map<string, Route>;
}

/**
 * Finds the route of a request by its method and path. A constant segment takes precedence over a parameter.
 */
export class Router {
  readonly #root = createNode();

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: Route): void {
    let node = this.#root;
    for (const step of stepsOf(route.path)) {
      if (step === '*' || step.endsWith('*}')) return void node.wildcards.set(route.method, route);
      node = nextNode(node, step);
    }
    if (node.routes.has(route.method))
      throw new Error(`${route.method} ${route.path} is defined twice`);
    node.routes.set(route.method, route);
  }

  /**
   * Finds a route. Returns undefined if no route matches. Throws `bad_request` if the percent-encoding of the
   * path is invalid.
   */
  find(method: string, path: string): FoundRoute | undefined {
    const steps = stepsOf(path).map(decodeStep);
    if (steps.length > maxSteps) return undefined;
    const route = findRoute(this.#root, method, steps, 0);
    return route && { route, params: paramsOf(route, steps) };
  }
}

function createNode(): PathNode {
  return { steps: new Map(), routes: new Map(), wildcards: new Map() };
}

function nextNode(node: PathNode, step: string): PathNode {
  if (step.startsWith('{')) {
    node.param ??= createNode();
    return node.param;
  }
  const next = node.steps.get(decodeStep(step)) ?? createNode();
  node.steps.set(decodeStep(step), next);
  return next;
}

/**
 * Finds the route for the remaining segments of a path. The recursion is at most as deep as the longest route
 * path.
 */
function findRoute(
  node: PathNode,
  method: string,
  steps: readonly string[],
  at: number,
): Route | undefined {
  const step = steps[at];
  if (step === undefined) return node.routes.get(method);
  const constant = node.steps.get(step);
  const found = constant && findRoute(constant, method, steps, at + 1);
  if (found !== undefined) return found;
  const param = step === '' ? undefined : node.param;
  return (param && findRoute(param, method, steps, at + 1)) ?? node.wildcards.get(method);
}

function paramsOf({ path }: Route, steps: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const [at, step] of stepsOf(path).entries())
    if (step.endsWith('*}')) params[step.slice(1, -2)] = canonicalSteps(steps.slice(at));
    else if (step.startsWith('{')) params[step.slice(1, -1)] = steps[at] ?? '';
  return params;
}

function canonicalSteps(steps: readonly string[]): string {
  return steps.map(encodeURIComponent).join('/');
}

/**
 * Maximum number of segments of a path. A path of 15,000 slashes needs almost a millisecond to split and decode, also
 * for a client without a token.
 */
const maxSteps = 256;

/** Returns the segments of a path. A path that is too long gets one more segment than the maximum. */
function stepsOf(path: string): readonly string[] {
  return path.slice(1).split('/', maxSteps + 1);
}

function decodeStep(step: string): string {
  if (!step.includes('%')) return step;
  try {
    return decodeURIComponent(step);
  } catch (cause) {
    throw badPath(cause);
  }
}

function badPath(cause: unknown): ServerError {
  const message = 'Cannot read the path: its percent-encoding is invalid';
  return new ServerError('bad_request', message, {}, { cause });
}

/** The path and the query of a URL. The query is not parsed. */
interface RequestTarget {
  readonly path: string;
  /** The text of the query. `parseQuery` reads its fields. */
  readonly query: string;
}

/**
 * Returns the path below the base path, and the query. Returns undefined if the URL is not below the base
 * path.
 */
export function readTarget(url: string, basePath: string): RequestTarget | undefined {
  const [beforeHash = ''] = url.split('#', 1);
  const queryAt = beforeHash.indexOf('?');
  const path = queryAt < 0 ? beforeHash : beforeHash.slice(0, queryAt);
  if (path !== basePath && !path.startsWith(`${basePath}/`)) return undefined;
  const query = queryAt < 0 ? '' : beforeHash.slice(queryAt + 1);
  return { path: path.slice(basePath.length) || '/', query };
}

/**
 * Returns the fields of a query. A query with thousands of fields needs much work, so only requests of accepted callers
 * should call this function.
 */
export function parseQuery(query: string): Readonly<Record<string, unknown>> {
  // The number of fields needs no limit, because the size of the URL is limited.
  return query === '' ? {} : parse(query, '&', '=', { maxKeys: 0 });
}

/**
 * Returns the canonical form of a path. All paths with the same route and the same parameters have the same
 * canonical form.
 */
export function canonicalPath(path: string): string {
  try {
    const steps = stepsOf(path).map(decodeStep);
    // Such a path has no route.
    return steps.length > maxSteps ? path : `/${canonicalSteps(steps)}`;
  } catch {
    // A path that cannot be decoded has no route, so it is returned unchanged.
    return path;
  }
}

/** Checks a base path, and returns it without a slash at its end. */
export function checkBasePath(basePath: string): string {
  const path = basePath.replace(/\/$/, '');
  if (path === '' || /^(?:\/[\w.~-]+)+$/.test(path)) return path;
  const message = `Cannot use the base path ${JSON.stringify(basePath).slice(0, 100)}. Write it like /api/agents: letters, digits and . _ ~ - between slashes`;
  throw new ServerError('invalid', message);
}
