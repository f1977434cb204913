// vtable.h : Replaces virtual functions of a C++ object of another library. Copies its vtable,
// replaces entries by the symbols of their functions, and gives the copy to the object. Assumes no
// layout and no index.
#ifndef VTABLE_H
#define VTABLE_H
#include <string>
#include <vector>

class Vtable
{
  public:
    // Copies the table with this symbol from a library opened by dlopen(). missing: "", or the
    // first symbol not found.
    Vtable(void *library, const char *symbol);

    // Redirects calls of `symbol` to `function`. Returns the old function, or nullptr
    // and sets `missing`.
    void *replace(const char *symbol, void *function);
    void give_to(void *object) const;

    std::string missing;

  private:
    void *library;
    std::vector<void *> words;
};

#endif
