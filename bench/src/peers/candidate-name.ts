import bench from '../../package.json' with { type: 'json' };

/** The name of a package with its installed version and the API that is measured. */
export function candidateName(peer: keyof typeof bench.dependencies, api: string): string {
  return `${peer} ${bench.dependencies[peer]}: ${api}`;
}
