import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRequirementMissing } from '../../../log/src/testing/external-programs.ts';

// The packages of others are not dependencies of this package, see scripts/test-setup.ts.

const root = new URL('../../../../', import.meta.url);

/** The environments of Python that `npm run test:setup` creates. Their packages need different versions. */
type Environment = 'clients' | 'agents';

/** Returns the Python of an environment. */
export function pythonIn(environment: Environment): string {
  return fileURLToPath(new URL(`node_modules/.cache/python-${environment}/bin/python`, root));
}

/** Returns the path of a script in `scripts/python-clients`. */
export function pythonScript(name: string): string {
  return fileURLToPath(new URL(`scripts/python-clients/${name}`, root));
}

/** Returns whether the tests of an environment are skipped. */
export function isPythonMissing(environment: Environment): boolean {
  return isRequirementMissing(
    existsSync(join(dirname(pythonIn(environment)), '..', 'complete')),
    'The clients and agents in Python are not installed. Run npm run test:setup',
  );
}
