// Paths of the checkout and of the cache for development downloads.
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Survives runs and checkouts; EAGLERAY_DEV_CACHE moves it. */
export const cache = process.env.EAGLERAY_DEV_CACHE ?? join(homedir(), ".cache", "eagleray-dev");

export const venv = join(root, ".venv");
export const python = join(venv, "bin", "python");
export const out = join(root, "out");
