import { fault } from '../errors/wire-fault.ts';

export interface VertexPlace {
  readonly project: string;
  readonly location: string;
}

export function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com';
  const isMultiRegion = location === 'us' || location === 'eu';
  return isMultiRegion
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`;
}

/** Throws for names that would lead to another host or path, and take the token there. */
export function vertexPath({ project, location }: VertexPlace): string {
  return `projects/${checked('project', project)}/locations/${checked('location', location)}`;
}

function checked(option: string, name: unknown): string {
  if (typeof name === 'string' && /^[a-z0-9-]+$/.test(name)) return name;
  throw fault('invalid_request', `${option} must be of small letters, digits and hyphens`);
}
