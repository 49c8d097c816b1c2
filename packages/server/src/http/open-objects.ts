import { z } from 'zod';

/**
 * Returns the paths of all object schemas inside a schema that silently remove unknown fields. A body schema
 * must have none. It must use `closedObject`, or `z.looseObject` if unknown fields have a meaning.
 */
export function openObjectsIn(schema: z.core.$ZodType, path = 'body'): readonly string[] {
  return visit(schema, path, new Set());
}

function visit(
  schema: z.core.$ZodType,
  path: string,
  seen: Set<z.core.$ZodType>,
): readonly string[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const inner = (child: z.core.$ZodType, step: string) => visit(child, `${path}${step}`, seen);
  if (schema instanceof z.ZodObject) {
    const { shape, catchall } = schema.def;
    const fields = Object.entries(shape).flatMap(([name, field]) => inner(field, `.${name}`));
    return [...(catchall === undefined ? [path] : []), ...fields];
  }
  if (schema instanceof z.ZodArray) return inner(schema.def.element, '[]');
  if (schema instanceof z.ZodRecord) return inner(schema.def.valueType, '[]');
  if (schema instanceof z.ZodUnion)
    return schema.def.options.flatMap((option, index) => inner(option, `|${index}`));
  if (schema instanceof z.ZodPipe)
    return [...inner(schema.def.in, ''), ...inner(schema.def.out, '')];
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  )
    return inner(schema.def.innerType, '');
  return leaves.some((leaf) => schema instanceof leaf) ? [] : [`${path} (${schema._zod.def.type})`];
}

/**
 * The kinds of schemas that contain no schemas. A schema of an unlisted kind is reported, so the check cannot
 * miss one.
 */
const leaves = [
  ...[z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodLiteral, z.ZodEnum, z.ZodNull],
  ...[z.ZodCustom, z.ZodTransform, z.ZodURL, z.ZodUndefined, z.ZodNever, z.ZodUnknown],
] as const;
