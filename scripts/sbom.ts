import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noticeFile, packagesInNotices, type ThirdPartyPackage } from './third-party.ts';

/** The parts of a CycloneDX document that this script changes. */
interface Sbom {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly 'bom-ref': string;
  readonly purl: string;
  readonly properties?: readonly { readonly name: string }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const [target = join(root, 'sbom.cdx.json'), ...bundles] = process.argv.slice(2);
const bundleFolders =
  bundles.length > 0 ? bundles : [join(root, 'apps/cli/bundle'), join(root, 'apps/web/dist')];
const developmentMark = 'cdx:npm:package:development';

const all = JSON.parse(
  execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  }),
) as Sbom;
const bundled = bundledPackages();
const shipped = withData(shippedOf(all, new Set(bundled.map(refOf))), bundled);
writeFileSync(target, `${JSON.stringify(shipped, null, 2)}\n`);
console.log(`${shipped.components.length} components: ${target}`);

/**
 * Returns the packages that are bundled into the command and the web page. For npm, these are
 * development dependencies.
 */
function bundledPackages(): readonly ThirdPartyPackage[] {
  const files = bundleFolders.map((folder) => readFileSync(join(folder, noticeFile), 'utf8'));
  return files.flatMap(packagesInNotices);
}

function refOf({ name, version }: ThirdPartyPackage): string {
  return `${name}@${version}`;
}

/** Adds the table of models. It comes from a Python package, so npm does not list it. */
function withData(sbom: Sbom, packages: readonly ThirdPartyPackage[]): Sbom {
  const data = packages.find(({ name }) => name === 'litellm');
  if (data === undefined) return sbom;
  const { name, version, license } = data;
  const component = {
    ...{ 'bom-ref': refOf(data), type: 'data', name, version },
    ...{ purl: `pkg:pypi/${name}@${version}`, licenses: [{ license: { id: license } }] },
  };
  return { ...sbom, components: [...sbom.components, component] };
}

/** Returns only the components that users receive: runtime dependencies and bundled packages. */
function shippedOf(sbom: Sbom, bundled: ReadonlySet<string>): Sbom {
  const isDevelopment = ({ properties = [] }: Component) =>
    properties.some(({ name }) => name === developmentMark);
  const components = sbom.components
    .filter((one) => !isDevelopment(one) || bundled.has(one['bom-ref']))
    .map(({ properties = [], ...one }) => ({
      ...one,
      properties: properties.filter(({ name }) => name !== developmentMark),
    }));
  const refs = new Set(components.map((one) => one['bom-ref']));
  const dependencies = sbom.dependencies
    .filter(({ ref, dependsOn }) => refs.has(ref) || dependsOn.some((one) => refs.has(one)))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
  return { ...sbom, components, dependencies };
}
