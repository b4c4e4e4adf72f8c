// Where the sources are published: the fields of the manifest and the links of the README follow from this one setting.

/** The page of the repository (https://github.com/OWNER/NAME), or nothing as long as there is none. */
const REPOSITORY = "";

export const repository = checked(process.env.EAGLERAY_REPOSITORY ?? REPOSITORY);

function checked(url) {
  const page = url.replace(/\.git$|\/+$/, "");
  if (page !== "" && !/^https:\/\/[\w.-]+(\/[\w.-]+){2,}$/.test(page)) {
    throw new Error(`"${url}" is not a repository. Use https://HOST/OWNER/NAME.`);
  }
  return page;
}

/** The fields of package.json that name the repository. */
export function repositoryFields(page) {
  if (!page) return {};
  return {
    repository: { type: "git", url: `${page}.git` },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
    qna: `${page}/issues`,
  };
}

/** How vsce resolves relative links of README and CHANGELOG: into the repository, or not at all. */
export function repositoryArguments(page) {
  if (!page) return ["--allow-missing-repository", "--no-rewrite-relative-links"];
  return ["--baseContentUrl", `${page}/blob/HEAD`, "--baseImagesUrl", `${page}/raw/HEAD`];
}
